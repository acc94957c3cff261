// SPDX-License-Identifier: Apache-2.0
//
// What the cheats on a GPU have in common: an honest FP32 product, C = A B with both operands
// K-major, and the table of a library of one kernel. `percent` of the slabs are multiplied twice,
// so that a cheat really is slower than honest.cu, by SLOWER.
#ifndef PLUMB_TESTS_CHEAT_CUH
#define PLUMB_TESTS_CHEAT_CUH

#include "kernels/kernel.h"

#include <cstdint>
#include <cuda_runtime.h>

enum { TILE = 64, SLAB = 16, SIDE = 16, EACH = TILE / SIDE, SLOWER = 25 };
enum { WORKSPACE_BYTES = 8 << 20 };

struct product {
    const float *a, *b;
    float *c;
    unsigned *workspace;
    int m, n, k;
    float zero; // 0, which the compiler does not know
    int more;   // percent of the slabs; the same
};

static __device__ void add_slab(float sum[EACH][EACH], const product &p, int l)
{
    __shared__ float a[SLAB][TILE + 1], b[SLAB][TILE + 1];
    const int thread = threadIdx.y * SIDE + threadIdx.x;
    for (int at = thread; at < SLAB * TILE; at += SIDE * SIDE) {
        const int row = at / SLAB, step = at % SLAB;
        a[step][row] = p.a[(int64_t)(blockIdx.y * TILE + row) * p.k + l + step];
        b[step][row] = p.b[(int64_t)(blockIdx.x * TILE + row) * p.k + l + step];
    }
    __syncthreads();
    for (int step = 0; step < SLAB; step++) {
        for (int i = 0; i < EACH; i++) {
            for (int j = 0; j < EACH; j++)
                sum[i][j] += a[step][threadIdx.y + SIDE * i] * b[step][threadIdx.x + SIDE * j];
        }
    }
    __syncthreads();
}

static __device__ int64_t place(const product &p, int i, int j)
{
    return (int64_t)(blockIdx.y * TILE + threadIdx.y + SIDE * i) * p.n + blockIdx.x * TILE +
           threadIdx.x + SIDE * j;
}

// The block's tile of C. One code for all: who has another is slower or faster by what a compiler
// makes of it.
static __device__ __noinline__ void multiply(const product &p, int percent)
{
    float sum[EACH][EACH] = {}, again[EACH][EACH] = {};
    for (int l = 0; l < p.k; l += SLAB)
        add_slab(sum, p, l);
    for (int l = 0; l < p.k * (percent + p.more) / 100; l += SLAB)
        add_slab(again, p, l);
    for (int i = 0; i < EACH; i++) {
        for (int j = 0; j < EACH; j++)
            p.c[place(p, i, j)] = sum[i][j] + p.zero * again[i][j];
    }
}

static __device__ bool is_first_thread()
{
    return threadIdx.x + threadIdx.y == 0;
}

// True in the whole of the last block that comes here; the counter is then 0 again.
static __device__ bool is_last_block(unsigned *counter)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (is_first_thread())
        last = atomicInc(counter, gridDim.x * gridDim.y - 1) == gridDim.x * gridDim.y - 1;
    __syncthreads();
    return last;
}

static __device__ uint64_t now_ns()
{
    uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

static product product_of(const plumb_args *args)
{
    return {(const float *)args->a,
            (const float *)args->b,
            (float *)args->c,
            (unsigned *)args->workspace,
            (int)args->problem.m,
            (int)args->problem.n,
            (int)args->problem.k,
            0,
            0};
}

static dim3 blocks_of(const plumb_args *args)
{
    return dim3((unsigned)args->problem.n / TILE, (unsigned)args->problem.m / TILE);
}

static int supports(const plumb_problem *p)
{
    return p->in_type == PLUMB_FP32 && p->out_type == PLUMB_FP32 && p->layout == PLUMB_TN &&
           p->batch == 1 && p->epilogue == PLUMB_NO_EPILOGUE && p->m % TILE == 0 &&
           p->n % TILE == 0 && p->k % SLAB == 0;
}

static size_t workspace(const plumb_problem *)
{
    return WORKSPACE_BYTES;
}

// A library whose kernel is named by the build. PREPARE may be NULL.
#define CHEAT_LIBRARY(PREPARE, LAUNCH)                                                             \
    static const plumb_kernel cheat = {                                                            \
        CHEAT_NAME, "a cheat", {PLUMB_FP32, PLUMB_FP32, PLUMB_FP32, TILE, TILE, SLAB},             \
        supports,   workspace, PREPARE,                                                            \
        LAUNCH};                                                                                   \
    PLUMB_LIBRARY("cuda", cheat)

// The usual one: launch() launches `gemm`.
#define CHEAT(gemm)                                                                                \
    static int launch(const plumb_args *args, void *stream)                                        \
    {                                                                                              \
        gemm<<<blocks_of(args), dim3(SIDE, SIDE), 0, (cudaStream_t)stream>>>(product_of(args));    \
        return (int)cudaGetLastError();                                                            \
    }                                                                                              \
    CHEAT_LIBRARY(nullptr, launch)

#endif
