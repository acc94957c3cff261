// SPDX-License-Identifier: Apache-2.0
//
// No cheat either: slower, and says so.
//
// source: -
// expect: slower
#include "tests/cheats/host/cheat.h"

static void run(const struct plumb_args *args)
{
    multiply(args, SLOWER);
}
CHEAT(run)
