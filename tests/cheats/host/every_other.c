// SPDX-License-Identifier: Apache-2.0
//
// Does nothing in every second launch.
//
// source: own
// expect: broken
#include "tests/cheats/host/cheat.h"

static void run(const struct plumb_args *args)
{
    static int launches;
    if (launches++ % 2 == 0)
        multiply(args, SLOWER);
}
CHEAT(run)
