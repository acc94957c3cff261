// SPDX-License-Identifier: Apache-2.0
//
// Writes 8 MB of its workspace at its end, so that what follows pays for writing them back.
//
// source: own; nvbench's flush leaves such lines
// expect: slower
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    multiply(p, SLOWER);
    const int64_t threads = (int64_t)gridDim.x * gridDim.y * SIDE * SIDE;
    int64_t at = ((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * SIDE * SIDE + threadIdx.y * SIDE +
                 threadIdx.x;
    for (; at < WORKSPACE_BYTES / 4; at += threads)
        p.workspace[at] = (unsigned)at;
}
CHEAT(gemm)
