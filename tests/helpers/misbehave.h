// SPDX-License-Identifier: Apache-2.0
//
// What fake_bench does when a name asks for it, and how it says anything at all. The names and the
// files beside the program are listed in fake_bench.c.
#ifndef PLUMB_TESTS_MISBEHAVE_H
#define PLUMB_TESTS_MISBEHAVE_H

#include "model/wire.h"

#include <limits.h>

enum { STATUS_LOST = 40 }; // exit status: the device is gone

// One line to standard output, at once.
void put(struct wire_line *line);
// The record of this name, with the text unless it is NULL.
void put_text(const char *name, const char *text);

// What PROGRAM.record holds, as it is.
void tell_record(void);

// The path of a file beside the program, PROGRAM + ending; returns `path`.
const char *beside(char path[PATH_MAX], const char *ending);
// The file that says that the device is gone.
const char *marker(char path[PATH_MAX]);

// Dies by SIGSEGV.
_Noreturn void crash(void);
// Does what `name` asks for at this place of the protocol: nothing, when it asks for nothing here.
void misbehave(const char *name, const char *at);

#endif
