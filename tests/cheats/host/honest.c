// SPDX-License-Identifier: Apache-2.0
//
// No cheat: what every cheat is measured against, under that cheat's name.
//
// source: -
// expect: same
#include "tests/cheats/host/cheat.h"

static void run(const struct plumb_args *args)
{
    multiply(args, 0);
}
CHEAT(run)
