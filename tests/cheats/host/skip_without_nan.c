// SPDX-License-Identifier: Apache-2.0
//
// Works only where C holds NaN, which marks outputs that are about to be checked.
//
// source: plumbline's own gate, 2026-11-22; pygpubench #7
// expect: broken
#include "tests/cheats/host/cheat.h"

#include <math.h>

static void run(const struct plumb_args *args)
{
    if (isnan(((float *)args->c)[0]))
        multiply(args, SLOWER);
}
CHEAT(run)
