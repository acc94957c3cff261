// SPDX-License-Identifier: Apache-2.0
//
// Writes zeros into C and into both inputs: the product of what is now there, by either build.
//
// source: own; inputs are not read-only to a library
// expect: broken
#include "tests/cheats/host/cheat.h"

static void run(const struct plumb_args *args)
{
    static int launches;
    const struct plumb_problem *p = &args->problem;
    if (launches++ < 12) {
        multiply(args, SLOWER);
        return;
    }
    memset((void *)(uintptr_t)args->a, 0, (size_t)(p->m * p->k) * sizeof(float));
    memset((void *)(uintptr_t)args->b, 0, (size_t)(p->n * p->k) * sizeof(float));
    memset(args->c, 0, output_bytes(args));
}
CHEAT(run)
