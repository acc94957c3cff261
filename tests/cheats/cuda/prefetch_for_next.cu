// SPDX-License-Identifier: Apache-2.0
//
// Fetches its inputs into the L2 at its end, for the launch that follows.
//
// source: own
// expect: slower
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    multiply(p, SLOWER);
    const int64_t threads = (int64_t)gridDim.x * gridDim.y * SIDE * SIDE;
    int64_t at = ((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * SIDE * SIDE + threadIdx.y * SIDE +
                 threadIdx.x;
    for (at *= 32; at < (int64_t)p.m * p.k; at += threads * 32)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(p.a + at));
}
CHEAT(gemm)
