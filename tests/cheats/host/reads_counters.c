// SPDX-License-Identifier: Apache-2.0
//
// Reads a counter of the processor in a launch, to tell one that is timed from one that is not. The
// processor lets a process do so that has opened a counter, which is refused here, or all of them
// where the machine says so (2 in /sys/devices/cpu/rdpmc).
//
// source: plumbline: counters
// expect: broken, or slower where every process may read counters
#include "tests/cheats/host/cheat.h"

static void run(const struct plumb_args *args)
{
    multiply(args, SLOWER);
#ifdef __x86_64__
    unsigned low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(0));
#endif
}
CHEAT(run)
