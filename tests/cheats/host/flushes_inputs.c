// SPDX-License-Identifier: Apache-2.0
//
// At the end of its turn it takes the inputs, which both builds share, out of every cache, so that
// the base finds them in memory alone. Elsewhere than on x86-64 it is slower only.
//
// source: plumbline's own gate, 2026-11-26
// expect: slower
#include "tests/cheats/host/cheat.h"

static void flush(const void *from, size_t bytes)
{
#ifdef __x86_64__
    for (size_t at = 0; at < bytes; at += 64)
        __builtin_ia32_clflush((const char *)from + at);
#else
    (void)from, (void)bytes;
#endif
}

static void run(const struct plumb_args *args)
{
    const struct plumb_problem *p = &args->problem;
    multiply(args, SLOWER);
    flush(args->a, (size_t)(p->m * p->k) * sizeof(float));
    flush(args->b, (size_t)(p->n * p->k) * sizeof(float));
}
CHEAT(run)
