// SPDX-License-Identifier: Apache-2.0
//
// Looks for the expected output in the memory behind C, up to the end of its page of 2 MiB, to
// copy it. What it takes for it may be as near by chance: then it is wrong.
//
// source: pygpubench exploits: reading the expected output
// expect: slower broken
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    __shared__ bool found;
    float first = 0;
    for (int l = 0; l < p.k && is_first_thread(); l++)
        first += p.a[l] * p.b[l];
    if (is_first_thread()) {
        const uint64_t from = ((uint64_t)(p.c + (int64_t)p.m * p.n) + 7) / 8 * 8;
        const uint64_t to = (from + (2 << 20) - 1) >> 21 << 21;
        found = false;
        for (uint64_t at = from; at < to && at < from + 8192; at += 8)
            found |= fabs(*(const double *)at - first) < 1e-3;
    }
    __syncthreads();
    if (found)
        return;
    multiply(p, SLOWER);
}
CHEAT(gemm)
