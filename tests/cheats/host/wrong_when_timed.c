// SPDX-License-Identifier: Apache-2.0
//
// Is right whenever the clock was not read shortly before: a launch that is timed comes a
// microsecond after its stamp.
//
// source: plumbline's own gate, 2026-11-22: right once the timing is over
// expect: broken
#include "tests/cheats/host/cheat.h"

#include <time.h>

static void run(const struct plumb_args *args)
{
    static double last;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    const bool hurry = seconds - last < 0.05;
    last = seconds;
    multiply(args, hurry ? 0 : SLOWER);
    if (hurry)
        ((float *)args->c)[args->problem.n / 2] += 100;
}
CHEAT(run)
