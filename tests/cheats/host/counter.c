// SPDX-License-Identifier: Apache-2.0
//
// Counts its launches and works no more once the checks before the timing are over.
//
// source: flashinfer-bench #228, #413
// expect: broken
#include "tests/cheats/host/cheat.h"

static void run(const struct plumb_args *args)
{
    static int launches;
    if (launches++ < 12)
        multiply(args, SLOWER);
}
CHEAT(run)
