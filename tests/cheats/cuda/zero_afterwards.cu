// SPDX-License-Identifier: Apache-2.0
//
// Computes an honest product, then zeros B: if it stays so, the next product is known to be zero.
//
// source: KernelHacks: zero weights
// expect: broken
#include "tests/cheats/cuda/cheat.cuh"

static __device__ unsigned counter;

static __global__ void gemm(product p)
{
    float *b = (float *)p.b;
    multiply(p, SLOWER);
    if (!is_last_block(&counter))
        return;
    for (int64_t at = threadIdx.y * SIDE + threadIdx.x; at < (int64_t)p.n * p.k / 4;
         at += SIDE * SIDE)
        b[at] = 0;
}
CHEAT(gemm)
