// SPDX-License-Identifier: Apache-2.0
//
// Sends itself SIGKILL in a launch, which the first process of a namespace would not get.
//
// source: plumbline: signals
// expect: broken
#include "tests/cheats/host/cheat.h"

#include <signal.h>
#include <unistd.h>

static void run(const struct plumb_args *args)
{
    static int launches;
    multiply(args, SLOWER);
    if (launches++ == 12)
        kill(getpid(), SIGKILL);
}
CHEAT(run)
