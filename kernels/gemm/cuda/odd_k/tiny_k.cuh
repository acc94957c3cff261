// SPDX-License-Identifier: Apache-2.0
//
// A K of at most 16 beside a C that is much larger than A and B: the time is that of writing C. No
// tensor cores: a thread keeps its columns' values of B in registers, as many columns as 16 bytes
// of C, and writes these of one row after the other. Rows of C may begin anywhere; every 8th row of
// BF16, every 4th of FP32, begins at the same place of 16 bytes, so that a block has such rows and
// only a row's ends are written element by element.
//
// TF32's inputs are not rounded here (the tensor cores' are), so results are those of FP32.
#ifndef PLUMB_GEMM_ODD_K_TINY_K_CUH
#define PLUMB_GEMM_ODD_K_TINY_K_CUH

#include <utility>

#include "word_rows.cuh"

constexpr int outer_threads = 128, most_outer_rows = 64;

struct outer_params {
    const void *a, *b;
    void *c;
    int m, n;
    int rows; // of a block
};

template <class type> struct outer_form {
    using output = typename type::output;
    using element = std::conditional_t<type::bytes == 4, float, uint16_t>;
    static constexpr int columns = 16 / type::bytes; // of a thread
    static_assert(sizeof(typename output::type) == type::bytes, "C's elements are like B's");

    static DEVICE float value(uint32_t word, int half)
    {
        if constexpr (type::bytes == 4)
            return __uint_as_float(word);
        return __uint_as_float(half ? word & 0xffff0000u : word << 16);
    }

    static DEVICE uint4 vector(const float (&x)[columns])
    {
        if constexpr (type::bytes == 4)
            return make_uint4(__float_as_uint(x[0]), __float_as_uint(x[1]), __float_as_uint(x[2]),
                              __float_as_uint(x[3]));
        else
            return make_uint4(output::pack(x[0], x[1]), output::pack(x[2], x[3]),
                              output::pack(x[4], x[5]), output::pack(x[6], x[7]));
    }
};

// The block's rows of B, which lie one behind the other, from column `begin` on; zeros outside.
template <class type, int k>
DEVICE void outer_load_b(uint16_t *shared, const outer_params &p, int begin)
{
    using form = outer_form<type>;
    using element = typename form::element;
    constexpr int each = form::columns * k;
    const element *from = static_cast<const element *>(p.b) + (int64_t)begin * k;
    const int64_t left = (int64_t)(p.n - begin) * k;
    const int first = begin < 0 ? -begin * k : 0;
#pragma unroll 8
    for (int j = 0; j < each; ++j) {
        const int i = j * outer_threads + (int)threadIdx.x;
        const auto x = load_valid(from + i, i >= first && i < left);
        if constexpr (type::bytes == 4)
            reinterpret_cast<uint32_t *>(shared)[i] = x;
        else
            shared[i] = (uint16_t)x;
    }
}

// Its rows of A, every columns-th from `first` on, as floats in rows of `pitch`.
template <class type, int k, int pitch>
DEVICE void outer_load_a(float *shared, const outer_params &p, int first)
{
    using form = outer_form<type>;
    using element = typename form::element;
#pragma unroll 4
    for (int i = threadIdx.x; i < p.rows * k; i += outer_threads) {
        const int row = i / k, at = i - row * k, whole = first + row * form::columns;
        const element *from = static_cast<const element *>(p.a) + (int64_t)whole * k + at;
        shared[row * pitch + at] = form::value(load_valid(from, whole < p.m), 0);
    }
}

// One row's elements of this thread, all of them or those inside C.
template <class type>
DEVICE void outer_store(void *c, int64_t at, const float (&x)[outer_form<type>::columns],
                        int column, int n)
{
    using form = outer_form<type>;
    using output = typename form::output;
    typename output::type *to = static_cast<typename output::type *>(c) + at;
    if (column >= 0 && column + form::columns <= n) {
        *reinterpret_cast<uint4 *>(to) = form::vector(x);
        return;
    }
#pragma unroll
    for (int i = 0; i < form::columns; ++i)
        if (column + i >= 0 && column + i < n)
            to[i] = output::from(x[i]);
}

template <class type, int k>
__global__ void __launch_bounds__(outer_threads) outer_gemm(const __grid_constant__ outer_params p)
{
    using form = outer_form<type>;
    constexpr int columns = form::columns, pitch = (k + 3) / 4 * 4, halves = 4 / type::bytes;
    __shared__ __align__(16) uint16_t shared_b[outer_threads * 8 * k];
    __shared__ __align__(16) float shared_a[most_outer_rows * pitch];
    const int group = (int)blockIdx.x, first = group + columns * (int)blockIdx.z * p.rows;
    const int off = group * (p.n % columns) % columns; // where its rows begin, in 16 bytes
    const int begin = (int)blockIdx.y * outer_threads * columns - off;
    outer_load_b<type, k>(shared_b, p, begin);
    outer_load_a<type, k, pitch>(shared_a, p, first);
    __syncthreads();
    const int column = begin + (int)threadIdx.x * columns;
    if (column >= p.n || first >= p.m)
        return;
    float b[columns * k];
#pragma unroll
    for (int i = 0; i < k; ++i) {
        const uint4 v = reinterpret_cast<const uint4 *>(shared_b)[threadIdx.x * k + i];
        const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int j = 0; j < 4 * halves; ++j)
            b[i * columns + j] = form::value(words[j / halves], j % halves);
    }
    const int inside = (p.m - first + columns - 1) / columns;
    const int rows = inside < p.rows ? inside : p.rows;
    int64_t at = (int64_t)first * p.n + column;
#pragma unroll 2
    for (int row = 0; row < rows; ++row, at += (int64_t)columns * p.n) {
        float a[pitch], sums[columns] = {};
#pragma unroll
        for (int i = 0; i < pitch; i += 4)
            *reinterpret_cast<float4 *>(a + i) =
                *reinterpret_cast<const float4 *>(shared_a + row * pitch + i);
#pragma unroll
        for (int i = 0; i < columns; ++i)
#pragma unroll
            for (int j = 0; j < k; ++j)
                sums[i] = fmaf(a[j], b[i * k + j], sums[i]);
        outer_store<type>(p.c, at, sums, column, p.n);
    }
}

// ---- host ----

template <class type, int k> int launch_outer_k(const outer_params &p, dim3 grid, cudaStream_t s)
{
    outer_gemm<type, k><<<grid, outer_threads, 0, s>>>(p);
    return cudaGetLastError();
}

template <class type, int... k>
int launch_outer_any(int which, const outer_params &p, dim3 grid, cudaStream_t s,
                     std::integer_sequence<int, k...>)
{
    static constexpr decltype(&launch_outer_k<type, 1>) launchers[] = {
        launch_outer_k<type, k + 1>...};
    return launchers[which - 1](p, grid, s);
}

template <class type> int launch_outer(const plumb_args *args, void *stream)
{
    const plumb_problem &problem = args->problem;
    constexpr int columns = outer_form<type>::columns;
    if (problem.k < 1 || problem.k > most_outer_k)
        return cudaErrorInvalidValue;
    const int rows = outer_rows(problem.m, problem.n, problem.k, type::bytes);
    const outer_params p = {args->a, args->b, args->c, (int)problem.m, (int)problem.n, rows};
    // A row that begins in the middle of 16 bytes has one more part of them.
    const int64_t parts = (problem.n + 2 * columns - 2) / columns;
    const dim3 grid(columns, (unsigned)((parts + outer_threads - 1) / outer_threads),
                    (unsigned)((problem.m + rows * columns - 1) / (rows * columns)));
    return launch_outer_any<type>((int)problem.k, p, grid, (cudaStream_t)stream,
                                  std::make_integer_sequence<int, most_outer_k>());
}

template <class type> static constexpr ragged_way outer_way = {"outer", launch_outer<type>};

// NULL: it is to be done in another way.
template <class type> static const ragged_way *find_outer(const plumb_problem &problem)
{
    const bool takes = takes_outer(problem.m, problem.n, problem.k, type::bytes);
    return takes ? &outer_way<type> : nullptr;
}

#endif
