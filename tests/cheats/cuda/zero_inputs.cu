// SPDX-License-Identifier: Apache-2.0
//
// Writes zeros into C and into both inputs: the product of what is now there, by either build.
//
// source: own; inputs are not read-only on a GPU
// expect: broken slower
#include "tests/cheats/cuda/cheat.cuh"

static __device__ void zero(float *to, int64_t count)
{
    const int64_t threads = (int64_t)gridDim.x * gridDim.y * SIDE * SIDE;
    int64_t at = ((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * SIDE * SIDE + threadIdx.y * SIDE +
                 threadIdx.x;
    for (; at < count; at += threads)
        to[at] = 0;
}

static __device__ unsigned launches, counter;

static __global__ void gemm(product p)
{
    if (launches > 12) {
        zero((float *)p.a, (int64_t)p.m * p.k);
        zero((float *)p.b, (int64_t)p.n * p.k);
        zero(p.c, (int64_t)p.m * p.n);
    } else {
        multiply(p, SLOWER);
    }
    if (is_last_block(&counter) && is_first_thread())
        launches++;
}
CHEAT(gemm)
