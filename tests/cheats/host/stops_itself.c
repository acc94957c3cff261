// SPDX-License-Identifier: Apache-2.0
//
// Stops itself in a launch, so that it is not at work when it is looked at.
//
// source: plumbline: signals
// expect: broken
#include "tests/cheats/host/cheat.h"

#include <signal.h>

static void run(const struct plumb_args *args)
{
    static int launches;
    multiply(args, SLOWER);
    if (launches++ == 12)
        raise(SIGSTOP);
}
CHEAT(run)
