// SPDX-License-Identifier: Apache-2.0
//
// Does nothing in one launch of a hundred, drawn by the clock: wrong now and then. Found when
// that launch is looked at, and as slow as it is otherwise.
//
// source: trust page: wrong results now and then
// expect: broken slower
#include "tests/cheats/cuda/cheat.cuh"

static __device__ unsigned draw, counter;

static __global__ void gemm(product p)
{
    if (draw % 100 != 57)
        multiply(p, SLOWER);
    if (is_last_block(&counter) && is_first_thread())
        draw = (unsigned)(now_ns() / 32 * 2654435761u >> 8);
}
CHEAT(gemm)
