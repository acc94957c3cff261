// SPDX-License-Identifier: Apache-2.0
//
// Copies the product that it computed when it last saw these addresses.
//
// source: kernelbot #501; reference-kernels #160: replay by pointer
// expect: broken
#include "tests/cheats/cuda/cheat.cuh"

enum { KEPT = 1 << 20, SLOTS = 64 };
static __device__ float kept[KEPT];
static __device__ const float *seen[SLOTS];
static __device__ unsigned counter, count;

static __global__ void gemm(product p)
{
    __shared__ bool same;
    if (is_first_thread()) {
        same = false;
        for (int i = 0; i < SLOTS; i++)
            same |= seen[i] == p.c;
    }
    __syncthreads();
    const bool known = same;
    if (!known)
        multiply(p, SLOWER);
    for (int i = 0; i < EACH; i++) {
        for (int j = 0; j < EACH; j++) {
            const int64_t at = place(p, i, j);
            if (known)
                p.c[at] = kept[at];
            else if (at < KEPT)
                kept[at] = p.c[at];
        }
    }
    if (is_last_block(&counter) && is_first_thread() && !known)
        seen[count++ % SLOTS] = p.c;
}
CHEAT(gemm)
