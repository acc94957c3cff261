// SPDX-License-Identifier: Apache-2.0
//
// Products with m = 1. Each output is the product of the one row of A and a row of B, so the time
// is that of reading B once. There are no tensor cores and no ring in shared memory. A warp reads
// two rows of B, 512 bytes of each at a time, and asks for two such pieces before it multiplies; so
// 32 warps keep 64 KiB per SM under way. A is read along with them, from L1 except by the first
// warp. If B has few rows, `parts` warps of a block divide the K of a pair of rows, and one warp
// adds their sums in order.
//
// TF32 inputs are not rounded here, as tensor cores' inputs are, so results are those of FP32.
#ifndef PLUMB_GEMM_SMALL_GEMV_CUH
#define PLUMB_GEMM_SMALL_GEMV_CUH

#include "../persistent/launch.cuh"

constexpr int gemv_warps = 8, gemv_blocks = 4; // warps of a block; blocks of an SM
constexpr int gemv_rows = 2, gemv_chunks = 2;  // rows of B per warp; pieces under way per
                                               // row and lane

// Loads 16 bytes of a matrix that is read only once.
DEVICE uint4 load_once(const uint4 *from)
{
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}

// Converts the elements of a word to floats.
DEVICE void unpack(tf32, uint32_t word, float (&x)[1])
{
    x[0] = __uint_as_float(word);
}
DEVICE void unpack(bf16, uint32_t word, float (&x)[2])
{
    x[0] = __uint_as_float(word << 16);
    x[1] = __uint_as_float(word & 0xffff0000u);
}
DEVICE void unpack(fp16, uint32_t word, float (&x)[2])
{
    const float2 f = __half22float2(*reinterpret_cast<const __half2 *>(&word));
    x[0] = f.x;
    x[1] = f.y;
}
DEVICE void unpack(e4m3, uint32_t word, float (&x)[4])
{
    uint32_t pairs[2];
    asm("{\n"
        ".reg .b16 low, high;\n"
        "mov.b32 {low, high}, %2;\n"
        "cvt.rn.f16x2.e4m3x2 %0, low;\n"
        "cvt.rn.f16x2.e4m3x2 %1, high;\n"
        "}"
        : "=r"(pairs[0]), "=r"(pairs[1])
        : "r"(word));
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float2 f = __half22float2(*reinterpret_cast<const __half2 *>(&pairs[i]));
        x[2 * i] = f.x;
        x[2 * i + 1] = f.y;
    }
}

// Adds to sums[r] the products of 16 bytes of A with 16 bytes of each row.
template <class type>
DEVICE void multiply_chunk(float (&sums)[gemv_rows], const uint4 &a, const uint4 (&b)[gemv_rows])
{
    constexpr int count = 4 / type::bytes;
    const uint32_t *a_words = &a.x;
#pragma unroll
    for (int word = 0; word < 4; ++word) {
        float x[count];
        unpack(type(), a_words[word], x);
#pragma unroll
        for (int r = 0; r < gemv_rows; ++r) {
            float y[count];
            unpack(type(), (&b[r].x)[word], y);
#pragma unroll
            for (int i = 0; i < count; ++i)
                sums[r] += x[i] * y[i];
        }
    }
}

// silu(x) * y of a dual GEMM, whose pairs of rows are one of B1 and the same of B2.
// results of a pair
template <class type, bool dual> constexpr int gemv_results = dual ? 1 : gemv_rows;

struct gemv_params {
    const uint4 *a, *b;
    void *c;
    const float *scale_a, *scale_b;
    int n, chunks; // n; pieces of 16 bytes in a row
    int doublings; // 2^doublings warps share a pair of rows: 0 to 3
};

template <class type, bool dual>
__global__ void __launch_bounds__(32 * gemv_warps, gemv_blocks)
    gemv(const __grid_constant__ gemv_params p)
{
    __shared__ float shared[gemv_warps][gemv_rows];
    constexpr int results = gemv_results<type, dual>;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int unit = blockIdx.x * gemv_warps + warp, parts = 1 << p.doublings;
    const int part = unit & (parts - 1), row = (unit >> p.doublings) * results;
    const uint4 *rows[gemv_rows];
#pragma unroll
    for (int r = 0; r < gemv_rows; ++r) { // rows beyond the end repeat the last one
        const int at = dual ? row : row + r;
        rows[r] = p.b + ((int64_t)(at < p.n ? at : p.n - 1) + (dual ? r * p.n : 0)) * p.chunks;
    }
    float sums[gemv_rows] = {};
    const int stride = 32 * parts;
    int at = part * 32 + lane;
    wait_for_launch_before();
    for (; at + (gemv_chunks - 1) * stride < p.chunks; at += gemv_chunks * stride) {
        uint4 a[gemv_chunks], b[gemv_chunks][gemv_rows];
#pragma unroll
        for (int i = 0; i < gemv_chunks; ++i) {
#pragma unroll
            for (int r = 0; r < gemv_rows; ++r)
                b[i][r] = load_once(rows[r] + at + i * stride);
            a[i] = __ldg(p.a + at + i * stride);
        }
#pragma unroll
        for (int i = 0; i < gemv_chunks; ++i)
            multiply_chunk<type>(sums, a[i], b[i]);
    }
    for (; at < p.chunks; at += stride) {
        uint4 b[gemv_rows];
#pragma unroll
        for (int r = 0; r < gemv_rows; ++r)
            b[r] = load_once(rows[r] + at);
        multiply_chunk<type>(sums, __ldg(p.a + at), b);
    }
    let_next_launch_begin();
#pragma unroll
    for (int r = 0; r < gemv_rows; ++r)
#pragma unroll
        for (int d = 16; d; d /= 2)
            sums[r] += __shfl_xor_sync(~0u, sums[r], d);
    if (lane == 0)
#pragma unroll
        for (int r = 0; r < gemv_rows; ++r)
            shared[warp][r] = sums[r];
    __syncthreads();
    if (part != 0 || lane >= results || row + lane >= p.n)
        return;
    float sum = 0, second = 0;
    for (int i = 0; i < parts; ++i) {
        sum += shared[warp + i][lane];
        if constexpr (dual)
            second += shared[warp + i][1];
    }
    if constexpr (type::dtype == PLUMB_E4M3) {
        const float scale = (p.scale_a ? *p.scale_a : 1.0f) * (p.scale_b ? *p.scale_b : 1.0f);
        sum *= scale;
        second *= scale;
    }
    if constexpr (dual)
        sum = gated(sum, second);
    using output = typename type::output;
    static_cast<typename output::type *>(p.c)[row + lane] = output::from(sum);
}

// ---- host ----

template <class type, bool dual> int supports_gemv(const plumb_problem *problem)
{
    return problem->m == 1 && supports_tn<type, dual>(problem);
}

template <class type, bool dual> int launch_gemv(const plumb_args *args, void *stream)
{
    const plumb_problem &problem = args->problem;
    gemv_params p = {static_cast<const uint4 *>(args->a),
                     static_cast<const uint4 *>(args->b),
                     args->c,
                     args->scale_a,
                     args->scale_b,
                     (int)problem.n,
                     (int)(problem.k * type::bytes / 16),
                     0};
    static const int sms = count_sms();
    const int pairs = ceil_div(p.n, gemv_results<type, dual>),
              resident = sms * gemv_blocks * gemv_warps;
    while (p.doublings < 3 && pairs << (p.doublings + 1) <= resident &&
           p.chunks >= (2 << p.doublings) * 32 * gemv_chunks)
        ++p.doublings;
    cluster_launch launch(32 * gemv_warps, 1, 0, stream);
    launch.config.gridDim = dim3(ceil_div((int64_t)pairs << p.doublings, gemv_warps));
    launch.begin_early();
    return cudaLaunchKernelEx(&launch.config, gemv<type, dual>, p);
}

// promote_k: 1 lists the kernel among FP8's kernels with promoted sums, because its sums
// are FP32 throughout.
template <class type, bool dual = false>
constexpr plumb_kernel gemv_row(const char *name, int promote_k)
{
    plumb_traits t = {};
    t.in_type = type::dtype;
    t.out_type = type::output::dtype;
    t.acc_type = PLUMB_FP32;
    t.tile_m = 1;
    t.tile_n = gemv_warps * gemv_results<type, dual>;
    t.tile_k = 32 * gemv_chunks * 16 / type::bytes;
    t.stages = t.cluster_m = t.cluster_n = t.raster_group = t.split_k = 1;
    t.threads = 32 * gemv_warps;
    t.smem_bytes = gemv_warps * gemv_rows * 4;
    t.registers = 64;
    t.blocks_per_sm = gemv_blocks;
    t.promote_k = promote_k;
    t.multiply = PLUMB_FMA;
    return {name,    "m = 1: rows of B read once", t, supports_gemv<type, dual>, nullptr,
            nullptr, launch_gemv<type, dual>};
}

#endif
