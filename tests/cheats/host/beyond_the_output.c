// SPDX-License-Identifier: Apache-2.0
//
// Writes behind C, where another's data may lie.
//
// source: pygpubench: overwriting the expected output
// expect: broken
#include "tests/cheats/host/cheat.h"

static void run(const struct plumb_args *args)
{
    multiply(args, SLOWER);
    ((float *)args->c)[args->problem.m * args->problem.n] = 1;
}
CHEAT(run)
