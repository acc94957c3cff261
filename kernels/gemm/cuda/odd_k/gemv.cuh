// SPDX-License-Identifier: Apache-2.0
//
// m = 1 with a K that is no multiple of 16 bytes (small/gemv.cuh for those that are). Rows of B
// begin anywhere; they are read in chunks of 16 bytes from the last multiple of 16 before, and of
// each the bytes of A that belong to it are put together from shared memory. What a row's first and
// last chunk hold of its neighbours is cleared, since it may be no number.
#ifndef PLUMB_GEMM_ODD_K_GEMV_CUH
#define PLUMB_GEMM_ODD_K_GEMV_CUH

#include "../small/gemv.cuh"
#include "padding.cuh"

struct ragged_params {
    const uint8_t *a, *b;
    void *c;
    const float *scale_a, *scale_b;
    int64_t bytes; // of B
    int n, row_bytes;
    int doublings; // of the warps per row: 0 to 3
};

// A row of B in chunks, from the multiple of 16 bytes at or before its begin.
struct ragged_row {
    int64_t begin; // of the first chunk
    int shift;     // of the row in it
    int chunks;

    DEVICE ragged_row(const ragged_params &p, int row)
    {
        const int64_t at = (int64_t)row * p.row_bytes;
        shift = (int)(at % chunk_bytes);
        begin = at - shift;
        chunks = (shift + p.row_bytes + chunk_bytes - 1) / chunk_bytes;
    }
    DEVICE uint4 load(const ragged_params &p, int chunk) const
    {
        const uint4 x = load_chunk(p.b, begin + (int64_t)chunk * chunk_bytes, p.bytes);
        const int end = shift + p.row_bytes - chunk * chunk_bytes;
        return chunk == 0 || end < chunk_bytes ? clip_bytes(x, chunk ? 0 : shift, end) : x;
    }
};

template <class type> DEVICE float multiply_bytes(const uint4 &a, const uint4 &b)
{
    constexpr int count = 4 / type::bytes;
    float sum = 0;
#pragma unroll
    for (int word = 0; word < 4; ++word) {
        float x[count], y[count];
        unpack(type(), (&a.x)[word], x);
        unpack(type(), (&b.x)[word], y);
#pragma unroll
        for (int i = 0; i < count; ++i)
            sum += x[i] * y[i];
    }
    return sum;
}

// A warp takes every 2^doublings-th 32 chunks of a row; where several share one, the first adds up.
template <class type>
__global__ void __launch_bounds__(32 * gemv_warps, gemv_blocks)
    gemv_ragged(const __grid_constant__ ragged_params p)
{
    extern __shared__ uint4 shared_a[]; // 16 zeros, A, at least 16 zeros
    __shared__ float sums[gemv_warps];
    wait_for_launch_before();
    for (int i = threadIdx.x; i < p.row_bytes / chunk_bytes + 3; i += 32 * gemv_warps) {
        const int at = (i - 1) * chunk_bytes;
        shared_a[i] = i > 0 && at < p.row_bytes
                          ? clip_bytes(load_chunk(p.a, at, p.row_bytes), 0, p.row_bytes - at)
                          : make_uint4(0, 0, 0, 0);
    }
    __syncthreads();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, parts = 1 << p.doublings;
    const int unit = blockIdx.x * gemv_warps + warp, part = unit & (parts - 1);
    const int column = unit >> p.doublings;
    const ragged_row row(p, column < p.n ? column : p.n - 1);
    const int stride = 32 * parts;
    float sum = 0;
    const auto add = [&](int chunk, const uint4 &b) {
        sum += multiply_bytes<type>(
            bytes_at(shared_a[chunk], shared_a[chunk + 1], chunk_bytes - row.shift), b);
    };
    int at = part * 32 + lane;
    for (; at + 3 * stride < row.chunks; at += 4 * stride) {
        uint4 b[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            b[i] = row.load(p, at + i * stride);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            add(at + i * stride, b[i]);
    }
    for (; at < row.chunks; at += stride)
        add(at, row.load(p, at));
    let_next_launch_begin();
#pragma unroll
    for (int d = 16; d; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0)
        sums[warp] = sum;
    __syncthreads();
    if (part != 0 || lane != 0 || column >= p.n)
        return;
    for (int i = 1; i < parts; ++i)
        sum += sums[warp + i];
    if constexpr (type::dtype == PLUMB_E4M3)
        sum *= (p.scale_a ? *p.scale_a : 1.0f) * (p.scale_b ? *p.scale_b : 1.0f);
    using output = typename type::output;
    static_cast<typename output::type *>(p.c)[column] = output::from(sum);
}

// ---- host ----

// A with its zeros has to fit the shared memory that every kernel may have.
template <class type> bool takes_ragged_row(const plumb_problem &problem)
{
    return problem.m == 1 && problem.epilogue == PLUMB_NO_EPILOGUE && is_ragged<type>(problem) &&
           problem.k * type::bytes + 4 * chunk_bytes <= 48 * 1024 - 64;
}

template <class type> int launch_ragged_row(const plumb_args *args, void *stream)
{
    const plumb_problem &problem = args->problem;
    ragged_params p = {static_cast<const uint8_t *>(args->a),
                       static_cast<const uint8_t *>(args->b),
                       args->c,
                       args->scale_a,
                       args->scale_b,
                       problem.n * problem.k * type::bytes,
                       (int)problem.n,
                       (int)(problem.k * type::bytes),
                       0};
    static const int sms = count_sms();
    const int resident = sms * gemv_blocks * gemv_warps, chunks = p.row_bytes / chunk_bytes;
    while (p.doublings < 3 && (int64_t)p.n << (p.doublings + 1) <= resident &&
           chunks >= (2 << p.doublings) * 32 * 4)
        ++p.doublings;
    cluster_launch launch(32 * gemv_warps, 1, (chunks + 3) * chunk_bytes, stream);
    launch.config.gridDim = dim3(ceil_div((int64_t)p.n << p.doublings, gemv_warps));
    launch.begin_early();
    return cudaLaunchKernelEx(&launch.config, gemv_ragged<type>, p);
}

#endif
