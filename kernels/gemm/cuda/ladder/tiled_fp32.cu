// SPDX-License-Identifier: Apache-2.0
//
// FP32 ladder, rung 2: 128 x 128 tiles in shared memory, and 8 x 8 elements per thread in
// registers. The next slab is loaded into registers while this one is multiplied.
//
// For each slab of 8, a block reads 2 x 128 x 8 floats once and does 128 x 128 x 8 multiply-adds.
// That is 64 FLOP per byte from L2; at this ratio the 128 FP32 lanes of a Hopper SM need less than
// a tenth of the SM's share of L2's rate. A thread reads 16 floats from shared memory for 64
// multiply-adds. Both operands are K-major (TN). They are transposed on the way into shared memory,
// so that the rows of a thread are contiguous.
#include "../../../kernel.h"

#include <cuda_runtime.h>

constexpr int tile = 128, slab = 8, each = 8, threads = 256;
constexpr int pad = 4;                       // keeps rows at multiples of 16 bytes, and spreads the
                                             // transposed stores over banks
constexpr int loads = tile * slab / threads; // floats of one operand per thread and slab
constexpr int rows_apart = threads / slab;   // thread t loads rows t / 8 + 32 i, column t % 8

struct operand {
    const float *from;
    int64_t rows, k;
};

static __device__ __forceinline__ void fetch(float (&out)[loads], const operand &o, int64_t first,
                                             int64_t l)
{
    const int64_t row = first + threadIdx.x / slab, col = l + threadIdx.x % slab;
#pragma unroll
    for (int i = 0; i < loads; i++) {
        const int64_t at = row + rows_apart * i;
        out[i] = at < o.rows && col < o.k ? __ldg(o.from + at * o.k + col) : 0.0f;
    }
}

static __device__ __forceinline__ void put(float (*shared)[tile + pad], const float (&in)[loads])
{
#pragma unroll
    for (int i = 0; i < loads; i++)
        shared[threadIdx.x % slab][threadIdx.x / slab + rows_apart * i] = in[i];
}

// Reads the rows of a thread: 4 from each half of the tile, so that a warp's reads are contiguous.
static __device__ __forceinline__ void take(float (&out)[each], const float *row, int lane)
{
    const float4 low = *reinterpret_cast<const float4 *>(row + 4 * lane);
    const float4 high = *reinterpret_cast<const float4 *>(row + tile / 2 + 4 * lane);
    out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
    out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
}

static __device__ __forceinline__ int64_t place(int i, int lane)
{
    return (i / 4) * (tile / 2) + 4 * lane + i % 4;
}

static __global__ void __launch_bounds__(threads, 2)
    tiled_gemm(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
               int64_t m, int64_t n, int64_t k)
{
    __shared__ __align__(16) float shared_a[slab][tile + pad], shared_b[slab][tile + pad];
    const operand left = {a + blockIdx.z * m * k, m, k}, right = {b + blockIdx.z * n * k, n, k};
    const int64_t row = static_cast<int64_t>(blockIdx.y) * tile;
    const int64_t col = static_cast<int64_t>(blockIdx.x) * tile;
    const int lane_row = static_cast<int>(threadIdx.x) / 16;
    const int lane_col = static_cast<int>(threadIdx.x) % 16;
    float next_a[loads], next_b[loads], sum[each][each] = {};
    fetch(next_a, left, row, 0);
    fetch(next_b, right, col, 0);
    for (int64_t l = 0; l < k; l += slab) {
        put(shared_a, next_a);
        put(shared_b, next_b);
        __syncthreads();
        if (l + slab < k) {
            fetch(next_a, left, row, l + slab);
            fetch(next_b, right, col, l + slab);
        }
#pragma unroll
        for (int step = 0; step < slab; step++) {
            float x[each], y[each];
            take(x, shared_a[step], lane_row);
            take(y, shared_b[step], lane_col);
#pragma unroll
            for (int i = 0; i < each; i++) {
#pragma unroll
                for (int j = 0; j < each; j++)
                    sum[i][j] += x[i] * y[j];
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < each; i++) {
        const int64_t r = row + place(i, lane_row);
#pragma unroll
        for (int j = 0; j < each; j++) {
            const int64_t s = col + place(j, lane_col);
            if (r < m && s < n)
                c[(blockIdx.z * m + r) * n + s] = sum[i][j];
        }
    }
}

static int supports(const struct plumb_problem *p)
{
    return p->in_type == PLUMB_FP32 && p->out_type == PLUMB_FP32 && p->epilogue == 0 &&
           p->layout == PLUMB_TN && p->m <= 65535LL * tile && p->batch <= 65535;
}

static int launch(const struct plumb_args *args, void *stream)
{
    const struct plumb_problem *p = &args->problem;
    const dim3 blocks(static_cast<unsigned>((p->n + tile - 1) / tile),
                      static_cast<unsigned>((p->m + tile - 1) / tile),
                      static_cast<unsigned>(p->batch));
    tiled_gemm<<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<const float *>(args->a), static_cast<const float *>(args->b),
        static_cast<float *>(args->c), p->m, p->n, p->k);
    return static_cast<int>(cudaGetLastError());
}

static const struct plumb_kernel kernel = {
    .name = "tiled_fp32",
    .summary = "128x128 tiles in shared memory, 8x8 per thread, register prefetch",
    .traits = {.in_type = PLUMB_FP32,
               .out_type = PLUMB_FP32,
               .acc_type = PLUMB_FP32,
               .tile_m = tile,
               .tile_n = tile,
               .tile_k = slab,
               .stages = 2,
               .cluster_m = 1,
               .cluster_n = 1,
               .threads = threads,
               .smem_bytes = 2 * slab * (tile + pad) * 4,
               .registers = 128,
               .blocks_per_sm = 2,
               .raster = PLUMB_RASTER_N,
               .raster_group = 1,
               .split_k = 1,
               .multiply = PLUMB_FMA},
    .supports = supports,
    .launch = launch,
};
PLUMB_LIBRARY("cuda", kernel)
