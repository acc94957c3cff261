// SPDX-License-Identifier: Apache-2.0
//
// Runs a command inside the test's own process, for what a test wants to ask often.
#ifndef PLUMB_HELPER_COMMAND_H
#define PLUMB_HELPER_COMMAND_H

#include "ci/command.h"

// words[0] is the command's name; they end with NULL. Returns the exit code; *out is what it wrote
// on standard output (caller frees). Standard error is dropped.
int helper_command(const struct command *command, const char *const *words, char **out);

#endif
