// SPDX-License-Identifier: Apache-2.0
//
// Does nothing in every second launch: medians of times do not see the slower half.
//
// source: own
// expect: broken
#include "tests/cheats/cuda/cheat.cuh"

static __device__ unsigned launches, counter;

static __global__ void gemm(product p)
{
    if (launches % 2 == 0)
        multiply(p, SLOWER);
    if (is_last_block(&counter) && is_first_thread())
        launches++;
}
CHEAT(gemm)
