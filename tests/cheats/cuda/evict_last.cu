// SPDX-License-Identifier: Apache-2.0
//
// Marks what it loads to be the last that leaves the L2, so that it is still there after the
// flush.
//
// source: llm.c #851: 3,530 against 714 GB/s by a persisting carve-out
// expect: slower
#include "tests/cheats/cuda/cheat.cuh"

static __device__ unsigned counter;

static __global__ void gemm(product p)
{
    uint64_t policy;
    float sum = 0, value;
    multiply(p, SLOWER);
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    const int thread = threadIdx.y * SIDE + threadIdx.x;
    for (int at = thread * 32; at < TILE * p.k / (int)gridDim.x; at += SIDE * SIDE * 32) {
        const float *a = p.a + (int64_t)(blockIdx.y * TILE) * p.k +
                         (int64_t)blockIdx.x * (TILE * p.k / gridDim.x) + at;
        asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;"
                     : "=f"(value)
                     : "l"(a), "l"(policy));
        sum += value;
    }
    if (sum == 1e30f)
        counter++;
}
CHEAT(gemm)
