// SPDX-License-Identifier: Apache-2.0
//
// Ends the process in a launch, with the code that says that the device is gone.
//
// source: plumbline: exits
// expect: broken
#include "tests/cheats/host/cheat.h"

#include <unistd.h>

static void run(const struct plumb_args *args)
{
    static int launches;
    multiply(args, SLOWER);
    if (launches++ == 12)
        _exit(40);
}
CHEAT(run)
