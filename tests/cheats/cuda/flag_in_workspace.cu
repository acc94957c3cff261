// SPDX-License-Identifier: Apache-2.0
//
// Leaves a note in the workspace that this output is done, and does nothing when it finds it.
//
// source: reference-kernels #104: batch and skip
// expect: broken
#include "tests/cheats/cuda/cheat.cuh"

static __device__ unsigned counter;

static __global__ void gemm(product p)
{
    const uint64_t *note = (const uint64_t *)p.workspace;
    const bool done = *note == (uint64_t)p.c * 31;
    if (!done)
        multiply(p, SLOWER);
    if (is_last_block(&counter) && is_first_thread())
        *(uint64_t *)p.workspace = (uint64_t)p.c * 31;
}
CHEAT(gemm)
