// SPDX-License-Identifier: Apache-2.0
//
// No cheat either: slower, and says so.
//
// source: -
// expect: slower
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    multiply(p, SLOWER);
}
CHEAT(gemm)
