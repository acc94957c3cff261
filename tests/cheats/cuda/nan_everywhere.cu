// SPDX-License-Identifier: Apache-2.0
//
// Writes NaN, which passes comparisons that ask whether the error is too large.
//
// source: pygpubench #7
// expect: broken
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    for (int i = 0; i < EACH; i++) {
        for (int j = 0; j < EACH; j++)
            p.c[place(p, i, j)] = __int_as_float(0x7fffffff);
    }
}
CHEAT(gemm)
