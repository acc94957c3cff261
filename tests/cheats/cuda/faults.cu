// SPDX-License-Identifier: Apache-2.0
//
// Reads memory that is not there: the device is lost to whoever shares the process.
//
// source: plumbline: poisoned contexts
// expect: broken slower
#include "tests/cheats/cuda/cheat.cuh"

static __device__ unsigned launches, counter;

static __global__ void gemm(product p)
{
    if (launches > 12)
        p.c[(int64_t)1 << 40] = 1;
    multiply(p, SLOWER);
    if (is_last_block(&counter) && is_first_thread())
        launches++;
}
CHEAT(gemm)
