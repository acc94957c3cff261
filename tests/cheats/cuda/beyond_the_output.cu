// SPDX-License-Identifier: Apache-2.0
//
// Writes behind C, where another's data may lie.
//
// source: pygpubench: overwriting the expected output
// expect: broken
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    multiply(p, SLOWER);
    if (is_first_thread() && blockIdx.x + blockIdx.y == 0)
        p.c[(int64_t)p.m * p.n] = 1;
}
CHEAT(gemm)
