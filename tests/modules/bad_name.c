// SPDX-License-Identifier: Apache-2.0
//
// Refused before anything runs: a kernel whose name would break lines and paths.
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

static const struct plumb_kernel kernel = {
    .name = "../Right name", .supports = any, .launch = launch};

PLUMB_EXPORT const struct plumb_library *plumb_library(void)
{
    static const struct plumb_library library = {PLUMB_ABI_VERSION, sizeof(struct plumb_kernel),
                                                 "host", 1, &kernel};
    return &library;
}
