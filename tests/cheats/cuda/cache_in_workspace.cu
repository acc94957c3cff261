// SPDX-License-Identifier: Apache-2.0
//
// Keeps its product in the workspace, with the beginnings of both inputs before it.
//
// source: own; workspaces are handed from launch to launch
// expect: slower broken
#include "tests/cheats/cuda/cheat.cuh"

enum { KEY = 32, HEADER = 1024 };
static __device__ unsigned counter;

static __global__ void gemm(product p)
{
    __shared__ bool same;
    float *key = (float *)p.workspace, *kept = key + HEADER;
    const bool fits = (size_t)p.m * p.n + HEADER <= WORKSPACE_BYTES / sizeof(float);
    if (is_first_thread()) {
        same = fits;
        for (int i = 0; i < KEY; i++)
            same &= key[i] == p.a[i] && key[KEY + i] == p.b[i];
    }
    __syncthreads();
    const bool known = same;
    if (!known)
        multiply(p, SLOWER);
    for (int i = 0; i < EACH && fits; i++) {
        for (int j = 0; j < EACH; j++) {
            const int64_t at = place(p, i, j);
            if (known)
                p.c[at] = kept[at];
            else
                kept[at] = p.c[at];
        }
    }
    if (is_last_block(&counter) && is_first_thread()) {
        for (int i = 0; i < KEY; i++) {
            key[i] = p.a[i];
            key[KEY + i] = p.b[i];
        }
    }
}
CHEAT(gemm)
