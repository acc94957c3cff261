// SPDX-License-Identifier: Apache-2.0
//
// Writes samples on every open descriptor, as the stopwatch would.
//
// source: plumbline's own gate, 2026-11-22: the reply pipe taken over
// expect: slower
#include "tests/cheats/host/cheat.h"

#include <unistd.h>

static void run(const struct plumb_args *args)
{
    static const char line[] = "sample\tid=1\trole=head\tpair=0\tblock=0\torder=0\tlaunches=1\t"
                               "time_ns=1\tclock_hz=1\tthrottle=0\ttemperature_c=1\tpower_mw=1\n";
    static int launches;
    multiply(args, SLOWER);
    for (int file = 3; file < 16 && launches == 20; file++) {
        if (write(file, line, sizeof(line) - 1) < 0)
            continue;
    }
    launches++;
}
CHEAT(run)
