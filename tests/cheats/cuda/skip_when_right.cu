// SPDX-License-Identifier: Apache-2.0
//
// Computes one element of each tile and leaves when C holds it already: what the other build
// wrote into the output that both share.
//
// source: plumbline's own gate, 2026-11-22: faster by 66 %
// expect: slower broken
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    __shared__ float sum;
    const int thread = threadIdx.y * SIDE + threadIdx.x;
    const float *a = p.a + (int64_t)blockIdx.y * TILE * p.k;
    const float *b = p.b + (int64_t)blockIdx.x * TILE * p.k;
    if (thread == 0)
        sum = 0;
    __syncthreads();
    float own = 0;
    for (int l = thread; l < p.k; l += SIDE * SIDE)
        own += a[l] * b[l];
    atomicAdd(&sum, own);
    __syncthreads();
    const float is = p.c[(int64_t)blockIdx.y * TILE * p.n + blockIdx.x * TILE];
    if (fabsf(is - sum) < 1e-3f * sqrtf((float)p.k))
        return;
    multiply(p, SLOWER);
}
CHEAT(gemm)
