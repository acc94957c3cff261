// SPDX-License-Identifier: Apache-2.0
//
// Counts its launches in a global and works no more once the checks before the timing are over.
//
// source: flashinfer-bench #228, #413
// expect: broken slower
#include "tests/cheats/cuda/cheat.cuh"

static __device__ unsigned launches, counter;

static __global__ void gemm(product p)
{
    const bool enough = launches > 12;
    if (!enough)
        multiply(p, SLOWER);
    if (is_last_block(&counter) && is_first_thread())
        launches++;
}
CHEAT(gemm)
