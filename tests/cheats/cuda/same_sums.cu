// SPDX-License-Identifier: Apache-2.0
//
// Exchanges neighbours in C once the checks before the timing are over: the sum of every row
// stays.
//
// source: own; against digests
// expect: broken slower
#include "tests/cheats/cuda/cheat.cuh"

static __device__ unsigned launches, counter;

static __global__ void gemm(product p)
{
    const bool exchange = launches > 12;
    multiply(p, SLOWER);
    __syncthreads();
    for (int i = 0; i < EACH && exchange && threadIdx.x % 2 == 0; i++) {
        for (int j = 0; j < EACH; j++) {
            const int64_t at = place(p, i, j);
            const float other = p.c[at + 1];
            p.c[at + 1] = p.c[at];
            p.c[at] = other;
        }
    }
    if (is_last_block(&counter) && is_first_thread())
        launches++;
}
CHEAT(gemm)
