// SPDX-License-Identifier: Apache-2.0
//
// Works only where C holds NaN, which marks outputs that are about to be checked.
//
// source: plumbline's own gate, 2026-11-22; pygpubench #7
// expect: broken
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    if (p.c[(int64_t)blockIdx.y * TILE * p.n + blockIdx.x * TILE] ==
        p.c[(int64_t)blockIdx.y * TILE * p.n + blockIdx.x * TILE])
        return;
    multiply(p, SLOWER);
}
CHEAT(gemm)
