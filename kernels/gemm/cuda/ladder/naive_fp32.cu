// SPDX-License-Identifier: Apache-2.0
//
// FP32 ladder, rung 1: one thread per output element, operands straight from global memory. All
// reuse comes from the caches: a warp's 32 columns share one row of A, and with B K-major every
// thread walks through a row of its own.
#include "../../../kernel.h"

#include <cuda_runtime.h>

constexpr int side = 16;

static __global__ void __launch_bounds__(side *side)
    naive_gemm(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
               int64_t m, int64_t n, int64_t k, int64_t b_row, int64_t b_col)
{
    const int64_t row = static_cast<int64_t>(blockIdx.y) * side + threadIdx.y;
    const int64_t col = static_cast<int64_t>(blockIdx.x) * side + threadIdx.x;
    if (row >= m || col >= n)
        return;
    a += blockIdx.z * m * k + row * k;
    b += blockIdx.z * n * k + col * b_col;
    float sum = 0;
    for (int64_t l = 0; l < k; l++)
        sum += a[l] * b[l * b_row];
    c[blockIdx.z * m * n + row * n + col] = sum;
}

static int supports(const struct plumb_problem *p)
{
    return p->in_type == PLUMB_FP32 && p->out_type == PLUMB_FP32 && p->epilogue == 0 &&
           (p->layout == PLUMB_TN || p->layout == PLUMB_NN) && p->m <= 65535LL * side &&
           p->batch <= 65535;
}

static int launch(const struct plumb_args *args, void *stream)
{
    const struct plumb_problem *p = &args->problem;
    const dim3 blocks(static_cast<unsigned>((p->n + side - 1) / side),
                      static_cast<unsigned>((p->m + side - 1) / side),
                      static_cast<unsigned>(p->batch));
    const bool k_major = p->layout == PLUMB_TN;
    naive_gemm<<<blocks, dim3(side, side), 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<const float *>(args->a), static_cast<const float *>(args->b),
        static_cast<float *>(args->c), p->m, p->n, p->k, k_major ? 1 : p->n, k_major ? p->k : 1);
    return static_cast<int>(cudaGetLastError());
}

static const struct plumb_kernel kernel = {
    .name = "naive_fp32",
    .summary = "one thread per element, no shared memory",
    .traits = {.in_type = PLUMB_FP32,
               .out_type = PLUMB_FP32,
               .acc_type = PLUMB_FP32,
               .tile_m = side,
               .tile_n = side,
               .tile_k = 1,
               .stages = 1,
               .cluster_m = 1,
               .cluster_n = 1,
               .threads = side * side,
               .registers = 32,
               .blocks_per_sm = 8,
               .raster = PLUMB_RASTER_N,
               .raster_group = 1,
               .split_k = 1,
               .multiply = PLUMB_FMA},
    .supports = supports,
    .launch = launch,
};
PLUMB_LIBRARY("cuda", kernel)
