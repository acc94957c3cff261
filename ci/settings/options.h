// SPDX-License-Identifier: Apache-2.0
//
// The options that every measuring command shares, as an argp child; and how a command ends.
#ifndef PLUMB_OPTIONS_H
#define PLUMB_OPTIONS_H

#include "ci/settings/context.h"

#include <argp.h>

// Child parser for `struct options`: pass its address as the child's input.
extern const struct argp options_argp;

// Parses with our exit code (4) for bad usage and without the program's full path.
// Returns 0, or an exit code + 1 when the command must end at once (help was printed: 1).
int options_parse(const struct argp *argp, int argc, char **argv, void *input);

// Whoever read standard output has gone (`| head`), so that nobody misses the rest.
bool reader_left(void);
// Prints "plumb: TEXT" and returns the exit code of a tool that could not do its work. Silent where
// the failure is that the reader has left.
int fail(const struct error *err);

// A number an option needs: exits through argp_error on refusal.
uint32_t option_count(const char *text, const char *name, int64_t min, int64_t max,
                      struct argp_state *state);

#endif
