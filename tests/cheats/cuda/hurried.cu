// SPDX-License-Identifier: Apache-2.0
//
// Does nothing when its last launch is less than 20 ms ago: timed launches follow each other
// closely.
//
// source: own
// expect: broken
#include "tests/cheats/cuda/cheat.cuh"

static __device__ uint64_t last_ns;
static __device__ unsigned counter;

static __global__ void gemm(product p)
{
    const bool again = last_ns && now_ns() - last_ns < 20000000;
    if (!again)
        multiply(p, SLOWER);
    if (is_last_block(&counter) && is_first_thread())
        last_ns = now_ns();
}
CHEAT(gemm)
