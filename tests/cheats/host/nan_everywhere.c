// SPDX-License-Identifier: Apache-2.0
//
// Writes NaN, which passes comparisons that ask whether the error is too large.
//
// source: pygpubench #7
// expect: broken
#include "tests/cheats/host/cheat.h"

static void run(const struct plumb_args *args)
{
    memset(args->c, 0xff, output_bytes(args));
}
CHEAT(run)
