// SPDX-License-Identifier: Apache-2.0
//
// Computes one element and leaves when C holds it already: what the other build wrote into the
// output that both share. What fills the output before each launch may be as near by chance: then
// it leaves in vain, and is wrong.
//
// source: plumbline's own gate, 2026-11-22: faster by 66 %
// expect: slower broken
#include "tests/cheats/host/cheat.h"

#include <math.h>

static void run(const struct plumb_args *args)
{
    const float *a = args->a, *b = args->b, *c = args->c;
    float sum = 0;
    for (int64_t l = 0; l < args->problem.k; l++)
        sum += a[l] * b[l];
    if (!(fabsf(sum - c[0]) <= 1e-3f))
        multiply(args, SLOWER);
}
CHEAT(run)
