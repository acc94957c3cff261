// SPDX-License-Identifier: Apache-2.0
//
// Does nothing in one launch of a hundred, drawn at random: wrong now and then. Found when that
// launch is looked at, and as slow as it is otherwise.
//
// source: trust page: wrong results now and then
// expect: broken slower
#include "tests/cheats/host/cheat.h"

#include <sys/random.h>

static void run(const struct plumb_args *args)
{
    unsigned draw = 0;
    if (getrandom(&draw, sizeof(draw), 0) < 0 || draw % 100 != 57)
        multiply(args, SLOWER);
}
CHEAT(run)
