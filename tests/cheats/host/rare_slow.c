// SPDX-License-Identifier: Apache-2.0
//
// One launch in ten takes four times as long, which a tenth off each end of the times would hide:
// 30 % more in the mean.
//
// source: plumbline's own gate, 2026-11-26: "same"
// expect: slower
#include "tests/cheats/host/cheat.h"

static void run(const struct plumb_args *args)
{
    static unsigned launches;
    const int times = launches++ % 10 == 9 ? 4 : 1;
    for (int i = 0; i < times; i++)
        multiply(args, 0);
}
CHEAT(run)
