// SPDX-License-Identifier: Apache-2.0
//
// No cheat: what every cheat is measured against, under that cheat's name.
//
// source: -
// expect: same
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    multiply(p, 0);
}
CHEAT(gemm)
