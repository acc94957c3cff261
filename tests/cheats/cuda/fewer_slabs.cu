// SPDX-License-Identifier: Apache-2.0
//
// Leaves out a part of K, once the checks before the timing are over.
//
// source: own
// expect: broken
#include "tests/cheats/cuda/cheat.cuh"

static __device__ unsigned launches, counter;

static __global__ void gemm(product p)
{
    product shorter = p;
    float sum[EACH][EACH] = {};
    const int k = launches > 12 ? p.k - p.k / 4 : p.k;
    for (int l = 0; l < k; l += SLAB)
        add_slab(sum, p, l);
    for (int i = 0; i < EACH; i++) {
        for (int j = 0; j < EACH; j++)
            shorter.c[place(p, i, j)] = sum[i][j];
    }
    if (is_last_block(&counter) && is_first_thread())
        launches++;
}
CHEAT(gemm)
