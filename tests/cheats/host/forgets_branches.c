// SPDX-License-Identifier: Apache-2.0
//
// Asks that the processor forget its branches, and give up guessing at addresses, whenever it is
// switched to or from this process: whoever runs next begins cold.
//
// source: plumbline: what a switch costs
// expect: slower
#include "tests/cheats/host/cheat.h"

#include <linux/prctl.h>
#include <sys/prctl.h>

static void run(const struct plumb_args *args)
{
    static bool asked;
    if (!asked) {
        prctl(PR_SET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH, PR_SPEC_DISABLE, 0, 0);
        prctl(PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, PR_SPEC_DISABLE, 0, 0);
        asked = true;
    }
    multiply(args, SLOWER);
}
CHEAT(run)
