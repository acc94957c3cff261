// SPDX-License-Identifier: Apache-2.0
//
// Toolchains named one by one on a command line, in their order.
#ifndef PLUMB_TOOLCHAIN_NAMES_H
#define PLUMB_TOOLCHAIN_NAMES_H

#include <stddef.h>

enum { TOOLCHAIN_NAMES = 16 };
struct toolchain_names {
    const char *names[TOOLCHAIN_NAMES]; // of the command line
    size_t count;
};
// The rule for the names, as the error message says it.
#define TOOLCHAIN_NAMES_MUST "at most 16 names, each once, of letters, digits and ._+-"

// -1: it cannot be one, it is there already, or they are too many.
int toolchain_names_add(struct toolchain_names *names, const char *name);

#endif
