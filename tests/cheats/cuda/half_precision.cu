// SPDX-License-Identifier: Apache-2.0
//
// Rounds its inputs to half precision once the checks before the timing are over.
//
// source: Makora KernelHacks: lower precision within tolerance
// expect: broken slower
#include "tests/cheats/cuda/cheat.cuh"

#include <cuda_fp16.h>

static __device__ unsigned launches, counter;

static __global__ void gemm(product p)
{
    const bool coarse = launches > 12;
    multiply(p, SLOWER);
    for (int i = 0; i < EACH && coarse; i++) {
        for (int j = 0; j < EACH; j++)
            p.c[place(p, i, j)] = __half2float(__float2half(p.c[place(p, i, j)]));
    }
    if (is_last_block(&counter) && is_first_thread())
        launches++;
}
CHEAT(gemm)
