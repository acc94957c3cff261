// SPDX-License-Identifier: Apache-2.0
//
// Leaves out a part of K, once the checks before the timing are over.
//
// source: own
// expect: broken slower
#include "tests/cheats/cuda/cheat.cuh"

static __device__ unsigned launches, counter;

static __device__ void multiply_less(const product &p)
{
    float sum[EACH][EACH] = {};
    for (int l = 0; l < p.k - p.k / 4; l += SLAB)
        add_slab(sum, p, l);
    for (int i = 0; i < EACH; i++) {
        for (int j = 0; j < EACH; j++)
            p.c[place(p, i, j)] = sum[i][j];
    }
}

static __global__ void gemm(product p)
{
    if (launches > 12)
        multiply_less(p);
    else
        multiply(p, SLOWER);
    if (is_last_block(&counter) && is_first_thread())
        launches++;
}
CHEAT(gemm)
