// SPDX-License-Identifier: Apache-2.0
//
// A K of at most 64, beside a C that is much larger than A and B: writing C takes the time. It is
// written in whole lines of L2 (128 bytes), wherever rows of C begin. A line that two blocks write
// in part is read from memory before it is written back, and that takes twice as long.
//
// A block computes `wide` columns and stores `stored` of them. Of each row, it stores those that
// begin with a line; how far to the left that is differs from row to row. B's
// part stays in shared memory. The block's two warpgroups walk down the rows of C, 64 at a time,
// each for itself: all blocks together write some neighbouring rows at any time.
#ifndef PLUMB_GEMM_ODD_K_SHEET_CUH
#define PLUMB_GEMM_ODD_K_SHEET_CUH

#include <type_traits>

#include "odd_k.cuh"

// The rows of an operand's tile that a warp loads, every `warps`-th, word by word, to the swizzled
// places where the copy engine would put them. A tile may begin before the matrix. In TF32 a row's
// words begin at multiples of 4 bytes; in BF16, if K is odd, each half of a word is loaded by
// itself, so that nothing outside of the matrix is read. (short_gemm is 4 to 10 % slower by words.)
template <class type, int tile_rows, int warps, int slabs> struct sheet_rows {
    static constexpr int each = tile_rows / warps;
    static constexpr int halves = 4 / type::bytes; // number of loads for a word
    uint32_t words[slabs][halves][each];

    DEVICE void load(const uint8_t *matrix, int rows, int k, int first)
    {
        using element = std::conditional_t<type::bytes == 4, float, uint16_t>;
        const int row = first + (int)uniform(threadIdx.x / 32) % warps;
        const bool whole = halves == 2 && k % 2 == 0;
#pragma unroll
        for (int slab = 0; slab < slabs; ++slab) {
            const int column = slab * slab_elements<type> + threadIdx.x % 32 * halves;
            const element *from =
                reinterpret_cast<const element *>(matrix) + (int64_t)row * k + column;
            load_slab(words[slab], from, rows - row, -row, k, column, whole);
        }
    }

    // Loads one slab's words from the rows `begin` to `end`, counted from this warp's first one.
    template <class element>
    static DEVICE void load_slab(uint32_t (&to)[halves][each], const element *from, int end,
                                 int begin, int k, int column, bool whole)
    {
        const int64_t step = (int64_t)warps * k;
        const auto is_row = [&](int j) { return j * warps < end && j * warps >= begin; };
        if (whole) {
#pragma unroll
            for (int j = 0; j < each; ++j, from += step) {
                to[0][j] =
                    load_valid(reinterpret_cast<const float *>(from), column < k && is_row(j));
                to[halves - 1][j] = halves == 2 ? 0 : to[0][j];
            }
            return;
        }
#pragma unroll
        for (int j = 0; j < each; ++j, from += step)
#pragma unroll
            for (int half = 0; half < halves; ++half)
                to[half][j] = load_valid(from + half, column + half < k && is_row(j));
    }

    // Slabs lie one behind the other.
    DEVICE void store(uint32_t shared) const
    {
        const int warp = threadIdx.x / 32 % warps, lane = threadIdx.x % 32;
#pragma unroll
        for (int slab = 0; slab < slabs; ++slab)
#pragma unroll
            for (int j = 0; j < each; ++j) {
                uint32_t word = words[slab][0][j];
                if constexpr (halves == 2)
                    word |= words[slab][1][j] << 16;
                else
                    word = round_tf32(__uint_as_float(word));
                const uint32_t to = shared + loose_place(warp + j * warps, lane);
                asm volatile("st.shared.b32 [%0], %1;" ::"r"(to + slab * tile_rows * slab_bytes),
                             "r"(word)
                             : "memory");
            }
    }
};

struct sheet_params {
    const uint8_t *a, *b;
    void *c;
    int m, n, k;
};

template <class type, int slabs> struct sheet {
    using element = typename type::output::type;
    static constexpr int bytes = sizeof(element), chunk = 16 / bytes; // elements of 16 bytes
    static_assert(bytes == type::bytes, "C's elements are like B's");
    static constexpr int line = slab_bytes / bytes; // elements
    static constexpr int stored = 2 * line, wide = 3 * line, half = wide / 2;
    static constexpr int rows = 64, groups = 2, threads = 128 * groups;
    static constexpr int b_slab = wide * slab_bytes, a_slab = rows * slab_bytes;
    static constexpr int b_bytes = slabs * b_slab, a_bytes = slabs * a_slab;
    // Rows of a warp's results, of which neighbouring ones begin four banks apart.
    static constexpr int pitch = stored * bytes + 16, warp_bytes = 16 * pitch;
    static constexpr int smem_bytes = b_bytes + groups * a_bytes + 4 * groups * warp_bytes;

    // The number of elements between the last beginning of a line and that of this row.
    static DEVICE int behind_line(const sheet_params &p, int row)
    {
        return (int)((uint32_t)row * (uint32_t)(p.n % line) % line);
    }

    // Leaves two results at place `at` of a row, from the beginning of the stored lines on. Two of
    // 2 bytes are one word, unless n is odd.
    static DEVICE void leave(uint32_t row, int at, float x, float y, bool odd)
    {
        const uint32_t to = row + at * bytes;
        const bool first = at >= 0 && at < stored, second = at >= -1 && at < stored - 1;
        if constexpr (bytes == 4) {
            if (first)
                asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(x) : "memory");
            if (second)
                asm volatile("st.shared.f32 [%0], %1;" ::"r"(to + 4), "f"(y) : "memory");
        } else {
            const uint32_t word = type::output::pack(x, y);
            const uint16_t low = (uint16_t)word, high = (uint16_t)(word >> 16);
            if (!odd && first)
                asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(word) : "memory");
            if (odd && first)
                asm volatile("st.shared.b16 [%0], %1;" ::"r"(to), "h"(low) : "memory");
            if (odd && second)
                asm volatile("st.shared.b16 [%0], %1;" ::"r"(to + 2), "h"(high) : "memory");
        }
    }

    // Sums one half of the columns, and leaves the results in the warp's rows. late: behind_line()
    // of the two rows of which this thread has results.
    static DEVICE void multiply(uint32_t a, uint32_t b, uint32_t results, int column,
                                const int (&late)[2], bool odd)
    {
        float acc[half / 2];
        pin(acc);
        wgmma_fence();
#pragma unroll
        for (int slab = 0; slab < slabs; ++slab)
#pragma unroll
            for (int step = 0; step < 4; ++step)
                wgmma<type, half>::multiply(acc, operand_descriptor(a, slab * a_slab + step * 32),
                                            operand_descriptor(b, slab * b_slab + step * 32),
                                            slab + step > 0);
        wgmma_commit();
        wgmma_wait<0>();
        pin(acc);
        const int lane = threadIdx.x % 32, first = column + lane % 4 * 2 - line;
        const uint32_t to = results + lane / 4 * pitch;
#pragma unroll
        for (int j = 0; j < half / 2; j += 4) {
            leave(to, first + j * 2 + late[0], acc[j], acc[j + 1], odd);
            leave(to + 8 * pitch, first + j * 2 + late[1], acc[j + 2], acc[j + 3], odd);
        }
    }

    // Stores two rows of C: each lane 16 bytes, which are whole but at the row's ends. column: that
    // of the first element, if the row begins with a line.
    static DEVICE void store_rows(const sheet_params &p, uint32_t results, int row, int column)
    {
        const int lane = threadIdx.x % 16;
        row += threadIdx.x % 32 / 16;
        if (row >= p.m)
            return;
        column += lane * chunk - behind_line(p, row);
        const float4 v = load_shared(results + threadIdx.x % 32 / 16 * pitch + lane * 16);
        element *to = static_cast<element *>(p.c) + (int64_t)row * p.n + column;
        if (column >= 0 && column + chunk <= p.n) {
            *reinterpret_cast<float4 *>(to) = v;
            return;
        }
        const element *from = reinterpret_cast<const element *>(&v);
#pragma unroll
        for (int i = 0; i < chunk; ++i)
            if (column + i >= 0 && column + i < p.n)
                to[i] = from[i];
    }
};

template <class type, int slabs>
__global__ void __launch_bounds__(sheet<type, slabs>::threads, 2)
    sheet_gemm(const __grid_constant__ sheet_params p)
{
    using s = sheet<type, slabs>;
    extern __shared__ __align__(1024) uint8_t shared[];
    const uint32_t base = shared_address(shared);
    const int warp = (int)uniform(threadIdx.x / 32), group = warp / 4;
    const uint32_t b = base, a = base + s::b_bytes + group * s::a_bytes;
    const uint32_t results = base + s::b_bytes + s::groups * s::a_bytes + warp * s::warp_bytes;
    const int first = (int)blockIdx.x * s::stored - s::line;
    const int step = (int)gridDim.y * s::groups * s::rows;
    int row = ((int)blockIdx.y * s::groups + group) * s::rows;
    wait_for_launch_before();
    sheet_rows<type, s::rows, 4, slabs> next;
    next.load(p.a, p.m, p.k, row);
    {
        sheet_rows<type, s::wide, 8, slabs> all;
        all.load(p.b, p.n, p.k, first);
        all.store(b);
    }
    fence_async_shared();
    __syncthreads();
#pragma unroll 1
    for (; row < p.m; row += step) {
        const int own = row + warp % 4 * 16, at = own + (int)threadIdx.x % 32 / 4;
        const int late[2] = {s::behind_line(p, at), s::behind_line(p, at + 8)};
        next.store(a);
        fence_async_shared();
        named_barrier(1 + group, 128);
        if (row + step < p.m)
            next.load(p.a, p.m, p.k, row + step);
        s::multiply(operand_start(a), operand_start(b), results, 0, late, p.n % 2);
        s::multiply(operand_start(a), operand_start(b + s::half * slab_bytes), results, s::half,
                    late, p.n % 2);
        named_barrier(1 + group, 128);
#pragma unroll 4
        for (int i = 0; i < 16; i += 2)
            s::store_rows(p, results + i * s::pitch, own + i, first + s::line);
    }
    let_next_launch_begin();
}

// ---- host ----

template <class type, int slabs> static int launch_slabs(const plumb_args *args, void *stream)
{
    using s = sheet<type, slabs>;
    const plumb_problem &problem = args->problem;
    static const cudaError_t allowed = cudaFuncSetAttribute(
        sheet_gemm<type, slabs>, cudaFuncAttributeMaxDynamicSharedMemorySize, s::smem_bytes);
    static const int resident = 2 * count_sms();
    if (allowed != cudaSuccess)
        return cudaErrorInvalidValue;
    const sheet_params p = {static_cast<const uint8_t *>(args->a),
                            static_cast<const uint8_t *>(args->b),
                            args->c,
                            (int)problem.m,
                            (int)problem.n,
                            (int)problem.k};
    const int columns = ceil_div(problem.n + (problem.n % s::line ? s::line - 1 : 0), s::stored);
    const int most = ceil_div(problem.m, s::groups * s::rows), wanted = resident / columns;
    cluster_launch launch(s::threads, 1, s::smem_bytes, stream);
    launch.config.gridDim = dim3(columns, wanted < 1 ? 1 : wanted < most ? wanted : most);
    launch.begin_early();
    return cudaLaunchKernelEx(&launch.config, sheet_gemm<type, slabs>, p);
}

template <class type> static int launch_sheet(const plumb_args *args, void *stream)
{
    constexpr int most_slabs = type::bytes == 4 ? 2 : 1;
    const int64_t k = args->problem.k;
    if (k > most_slabs * slab_elements<type>)
        return cudaErrorInvalidValue;
    return k <= slab_elements<type> ? launch_slabs<type, 1>(args, stream)
                                    : launch_slabs<type, most_slabs>(args, stream);
}

template <class type> static constexpr ragged_way sheet_way = {"sheet", launch_sheet<type>};

#endif
