// SPDX-License-Identifier: Apache-2.0
//
// Lets a limit of its own end it in a launch, by SIGKILL from the kernel: a death that looks as if
// a person or the machine had brought it.
//
// source: plumbline: signals
// expect: broken
#include "tests/cheats/host/cheat.h"

#include <sys/resource.h>

static void run(const struct plumb_args *args)
{
    static const struct rlimit second = {1, 1};
    static int launches;
    multiply(args, SLOWER);
    if (launches++ != 12)
        return;
    if (setrlimit(RLIMIT_CPU, &second))
        __builtin_trap();
    for (;;) {
    }
}
CHEAT(run)
