// SPDX-License-Identifier: Apache-2.0
//
// Keeps its product in a global, and copies it when both inputs begin as they did then.
//
// source: flashinfer-bench #228: replay by content, 12.9x
// expect: slower broken
#include "tests/cheats/cuda/cheat.cuh"

enum { KEPT = 1 << 20, KEY = 32 };
static __device__ float kept[KEPT], key[2][KEY];
static __device__ unsigned counter;

static __global__ void gemm(product p)
{
    __shared__ bool same;
    if (is_first_thread()) {
        same = true;
        for (int i = 0; i < KEY; i++)
            same &= key[0][i] == p.a[i] && key[1][i] == p.b[i];
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
    if (is_last_block(&counter) && is_first_thread()) {
        for (int i = 0; i < KEY; i++) {
            key[0][i] = p.a[i];
            key[1][i] = p.b[i];
        }
    }
}
CHEAT(gemm)
