// SPDX-License-Identifier: Apache-2.0
//
// Right products that take a little longer than they must: what a gate has to find. Built by
// build.sh into one library per effect; base and head have the same device code and differ in one
// argument of the launch, so that nothing but the work put in can move the time.
//
//   SLOW_COMPUTE  a block's 64 x 64 tile of FP32 products; extra: a chain of dependent
//                 multiply-adds at the end of every thread
//   SLOW_LATENCY  one thread per element, small problems (10-45 us); extra: the same chain
//   SLOW_MEMORY   one warp per row of A, few columns; extra: rows of A that are read twice
//
// SLOW_BEFORE, SLOW_AFTER: so many kernels that nobody launches stand in the module too, before or
// after the one that is timed, whose machine code stays the same byte for byte (build.sh looks).
//
// SLOW_SHARED: bytes of shared memory that a block asks for and does not use, so that fewer fit on
// an SM.
//
// SLOW_EXTRA is the length of the chain, or rows read twice of each 1000. SLOW_VARIES: each launch
// draws 0 or twice the length, so the mean stays and the spread grows.
#include "beside.cuh"
#include "kernel.h"

#include <cuda_runtime.h>

#ifndef SLOW_EXTRA
#define SLOW_EXTRA 0
#endif
#ifndef SLOW_SHARED
#define SLOW_SHARED 0
#endif

// About four clocks a step. The result is used in a way no compiler can foresee and no value meets.
static __device__ __forceinline__ void waste(float *c, float x, int steps)
{
    for (int i = 0; i < steps; i++)
        x = fmaf(x, 0.999f, 1e-3f);
    if (x == -7.25e33f)
        *c = x;
}

BESIDE(SLOW_BEFORE, 1)

#if defined(SLOW_COMPUTE)
constexpr int tile = 64, slab = 16, threads = 256;
static __global__ void __launch_bounds__(threads)
    slow_gemm(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
              int m, int n, int k, int extra)
{
    __shared__ float left[slab][tile + 4], right[slab][tile + 4];
    const int row = blockIdx.y * tile, col = blockIdx.x * tile;
    const int y = threadIdx.x / 16, x = threadIdx.x % 16;
    float sum[4][4] = {};
    for (int l = 0; l < k; l += slab) {
        for (int i = threadIdx.x; i < tile * slab; i += threads) {
            const int r = i / slab, s = i % slab;
            left[s][r] = a[static_cast<int64_t>(row + r) * k + l + s];
            right[s][r] = b[static_cast<int64_t>(col + r) * k + l + s];
        }
        __syncthreads();
#pragma unroll
        for (int s = 0; s < slab; s++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
#pragma unroll
                for (int j = 0; j < 4; j++)
                    sum[i][j] += left[s][y * 4 + i] * right[s][x * 4 + j];
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++)
            c[static_cast<int64_t>(row + y * 4 + i) * n + col + x * 4 + j] = sum[i][j];
    }
    waste(c, sum[0][0], extra);
}
static int fits(const struct plumb_problem *p)
{
    return p->m % tile == 0 && p->n % tile == 0 && p->k % slab == 0 && p->k >= 1024 && p->n >= 256;
}
static dim3 grid(const struct plumb_problem *p)
{
    return dim3(static_cast<unsigned>(p->n / tile), static_cast<unsigned>(p->m / tile));
}
#elif defined(SLOW_LATENCY)
constexpr int threads = 128;
static __global__ void __launch_bounds__(threads)
    slow_gemm(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
              int m, int n, int k, int extra)
{
    const int at = static_cast<int>(blockIdx.x * threads + threadIdx.x);
    if (at >= m * n)
        return;
    const float *x = a + static_cast<int64_t>(at / n) * k,
                *y = b + static_cast<int64_t>(at % n) * k;
    float sum = 0;
    for (int l = 0; l < k; l++)
        sum = fmaf(x[l], y[l], sum);
    c[at] = sum;
    waste(c, sum, extra);
}
static int fits(const struct plumb_problem *p)
{
    return p->m * p->n <= 16384 && p->k <= 1024;
}
static dim3 grid(const struct plumb_problem *p)
{
    return dim3(static_cast<unsigned>((p->m * p->n + threads - 1) / threads));
}
#else
constexpr int threads = 256, columns = 4;
static __device__ float dot(const float *x, const float *y, int k)
{
    float sum = 0;
    for (int l = static_cast<int>(threadIdx.x) % 32; l < k; l += 32)
        sum = fmaf(x[l], y[l], sum);
    for (int step = 16; step; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    return sum;
}
static __global__ void __launch_bounds__(threads)
    slow_gemm(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
              int m, int n, int k, int extra)
{
    const int row = static_cast<int>(blockIdx.x * (threads / 32) + threadIdx.x / 32);
    if (row >= m)
        return;
    for (int j = 0; j < n; j++) {
        const float sum =
            dot(a + static_cast<int64_t>(row) * k, b + static_cast<int64_t>(j) * k, k);
        if (threadIdx.x % 32 == 0)
            c[static_cast<int64_t>(row) * n + j] = sum;
    }
    // Spread over the rows, and far from this one, so that the cache does not have them.
    if (static_cast<unsigned>(row) * 2654435761u % 1000u < static_cast<unsigned>(extra)) {
        const float again = dot(a + static_cast<int64_t>((row + m / 2) % m) * k, b, k);
        waste(c, again, 0);
    }
}
static int fits(const struct plumb_problem *p)
{
    return p->n <= columns && p->m >= 16384;
}
static dim3 grid(const struct plumb_problem *p)
{
    return dim3(static_cast<unsigned>((p->m + threads / 32 - 1) / (threads / 32)));
}
#endif

BESIDE(SLOW_AFTER, 101)

static int supports(const struct plumb_problem *p)
{
    return p->in_type == PLUMB_FP32 && p->out_type == PLUMB_FP32 && p->epilogue == 0 &&
           p->layout == PLUMB_TN && p->batch == 1 && p->m <= 1 << 20 && fits(p);
}

static int extra_of_launch(void)
{
#ifdef SLOW_VARIES
    static uint32_t launches;
    uint32_t word = launches++ * 2654435769u;
    word ^= word >> 15;
    word *= 2246822519u;
    return word >> 31 ? 2 * (SLOW_EXTRA) : 0;
#else
    return SLOW_EXTRA;
#endif
}

static int launch(const struct plumb_args *args, void *stream)
{
    const struct plumb_problem *p = &args->problem;
    if (SLOW_SHARED)
        cudaFuncSetAttribute(slow_gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, SLOW_SHARED);
    slow_gemm<<<grid(p), threads, SLOW_SHARED, static_cast<cudaStream_t>(stream)>>>(
        static_cast<const float *>(args->a), static_cast<const float *>(args->b),
        static_cast<float *>(args->c), static_cast<int>(p->m), static_cast<int>(p->n),
        static_cast<int>(p->k), extra_of_launch());
    return static_cast<int>(cudaGetLastError());
}

static const struct plumb_kernel kernel = {
    .name = SLOW_NAME,
    .summary = "right, and a little slower than it must be",
    .traits = {.in_type = PLUMB_FP32,
               .out_type = PLUMB_FP32,
               .acc_type = PLUMB_FP32,
               .threads = threads,
               .split_k = 1},
    .supports = supports,
    .launch = launch,
};
PLUMB_LIBRARY("cuda", kernel)
