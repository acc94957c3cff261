// SPDX-License-Identifier: Apache-2.0
//
// A record's launches for people.
#ifndef PLUMB_LAUNCH_PRINT_H
#define PLUMB_LAUNCH_PRINT_H

#include "model/record/record.h"

// Lines on standard output: problem, workspace, and each launch with what it is given.
// Text that a program or a file of a stranger brought: on one line, and nothing in it that a
// terminal obeys. Caller frees.
char *launch_clean(const char *text) __attribute__((returns_nonnull));

void launch_print_all(const struct record *record);

#endif
