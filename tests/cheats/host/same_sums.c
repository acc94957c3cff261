// SPDX-License-Identifier: Apache-2.0
//
// Exchanges neighbours in C once the checks before the timing are over: the sum of every row
// stays.
//
// source: own; against digests
// expect: broken
#include "tests/cheats/host/cheat.h"

static void run(const struct plumb_args *args)
{
    static int launches;
    float *c = args->c;
    multiply(args, 0);
    if (launches++ < 12)
        return;
    for (int64_t i = 0; i + 1 < args->problem.m * args->problem.n; i += 2) {
        const float first = c[i];
        c[i] = c[i + 1];
        c[i + 1] = first;
    }
}
CHEAT(run)
