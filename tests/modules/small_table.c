// SPDX-License-Identifier: Apache-2.0
//
// Refused before anything runs: a table whose entries are too small to be this ABI's.
#include "kernels/kernel.h"

static int any(const struct plumb_problem *p)
{
    (void)p;
    return 1;
}

static int launch(const struct plumb_args *args, void *stream)
{
    (void)args;
    (void)stream;
    return 0;
}

static const struct plumb_kernel kernel = {.name = "right", .supports = any, .launch = launch};

PLUMB_EXPORT const struct plumb_library *plumb_library(void)
{
    static const struct plumb_library library = {PLUMB_ABI_VERSION, 16, "host", 1, &kernel};
    return &library;
}
