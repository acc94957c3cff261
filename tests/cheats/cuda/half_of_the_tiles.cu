// SPDX-License-Identifier: Apache-2.0
//
// Leaves every second tile as it is.
//
// source: KernelBench #82; Makora KernelHacks
// expect: broken
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    if ((blockIdx.x + blockIdx.y) % 2)
        return;
    multiply(p, 0);
}
CHEAT(gemm)
