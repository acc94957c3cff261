// SPDX-License-Identifier: Apache-2.0
//
// A K of at most three slabs that is no multiple of 16 bytes, in one launch. All warps of a block
// bring its rows to shared memory word by word, all words of a slab asked for at once. Then one
// warpgroup multiplies, and where no copy engine stores C's rows both do. There is no ring: two
// blocks lie on an SM instead.
#ifndef PLUMB_GEMM_ODD_K_SHORT_K_CUH
#define PLUMB_GEMM_ODD_K_SHORT_K_CUH

#include "../epilogue.cuh"
#include "../persistent/persistent.cuh"
#include "copies.h"
#include "word_rows.cuh"

// ---- Rows of C that are no multiple of 16 bytes, which the copy engine does not store, in words
// of 4 bytes: neighbouring lanes store neighbouring words of a row. The sums go through shared
// memory, from which halves of two words become one where a row begins in the middle of a word.
// (Stored element by element from registers, 1009 x 1013 of BF16 take 3.5 us more.)

// 16 rows of n sums of one warp, which other warps may help to store: as many pieces at a time as
// the warp has shared memory for.
template <class c> struct ragged_rows {
    using stager = typename c::stager;
    static constexpr int together = stager::count < c::ring ? stager::count : c::ring;
    static constexpr int width = together * stager::columns; // elements of a row at a time
    static_assert(c::mi == 1 && c::n % width == 0, "whole pieces of one block of rows");

    // The sums from column `first` on, as pieces that lie one behind the other.
    template <int first>
    static DEVICE void fill(const stager &out, const typename stager::sums &acc)
    {
        constexpr int piece = first / stager::columns;
        typename stager::words held;
        [&]<int... i>(std::integer_sequence<int, i...>)
        {
            ((stager::template hold_piece<piece + i>(held, acc, 1),
              out.template fill<piece + i>(held, out.pieces + i * piece_bytes)),
             ...);
        }
        (std::make_integer_sequence<int, together>());
    }

    // Word `word` of a row of the pieces.
    static DEVICE uint32_t word_at(uint32_t pieces, int row, int word)
    {
        return __float_as_uint(
            load_shared_float(pieces + word / 32 * piece_bytes + loose_place(row, word % 32)));
    }

    // The words of a row: `left` elements (or none, if that is negative) from element `begin` of C
    // on.
    static DEVICE void store_row(uint32_t pieces, void *matrix, int row, int64_t begin, int left)
    {
        const int lane = threadIdx.x % 32;
        if constexpr (stager::element == 4) {
            uint32_t *to = static_cast<uint32_t *>(matrix) + begin;
#pragma unroll
            for (int word = lane; word < width; word += 32)
                if (word < left)
                    to[word] = word_at(pieces, row, word);
        } else {
            uint16_t *to = static_cast<uint16_t *>(matrix) + begin;
            const loose_part part = loose_part_of(begin, left);
#pragma unroll
            for (int word = lane; word < width / 2; word += 32) {
                const uint32_t x = word_at(pieces, row, word);
                const uint32_t y = word_at(pieces, row, min(word + 1, width / 2 - 1));
                if (word < part.words)
                    *reinterpret_cast<uint32_t *>(to + part.head + 2 * word) =
                        __funnelshift_r(x, y, 16 * part.head);
                if (word == 0 && part.head)
                    to[0] = (uint16_t)x;
                if (word == part.words && part.tail)
                    to[left - 1] = (uint16_t)(x >> 16 * part.head);
            }
        }
    }

    // Every `step`-th of the 16 rows, which begin at (row, column) of C.
    static DEVICE void store(uint32_t pieces, const output_target &target, int row, int column,
                             int from, int step)
    {
        const int left = min(target.n - column, width);
#pragma unroll 4
        for (int i = from; i < 16; i += step)
            if (row + i < target.m)
                store_row(pieces, target.c, i, (int64_t)(row + i) * target.n + column, left);
    }
};

// All of a block whose last warpgroup has the sums, by its two warpgroups: a warp of the first
// stores half of the rows of the other's of its number.
template <class c>
DEVICE void store_ragged_rows(const typename c::stager &out, const typename c::stager::sums &acc,
                              int row, int column)
{
    using rows = ragged_rows<c>;
    static_assert(c::threads == 256 && c::n <= 2 * rows::width, "two warpgroups, two turns");
    const int group = (int)uniform(threadIdx.x / 128);
    if (group == 1)
        rows::template fill<0>(out, acc);
    __syncthreads();
    rows::store(out.pieces, out.target, row, column, group, 2);
    if constexpr (c::n > rows::width) {
        __syncthreads();
        if (group == 1)
            rows::template fill<rows::width>(out, acc);
        __syncthreads();
        rows::store(out.pieces, out.target, row, column + rows::width, group, 2);
    }
}

struct short_params {
    gemm_params gemm;
    const uint8_t *a, *b;
    int k;
};

template <class c>
DEVICE void short_multiply(float (&acc)[c::mi][c::n / 2], const block_memory<c> &memory, int slabs)
{
    consumer<c>::pin_all(acc);
#pragma unroll 1
    for (int slab = 0; slab < slabs; ++slab) {
        wgmma_fence();
        multiply_slab<c>(acc, operand_start(memory.a(slab)), operand_start(memory.b(slab)),
                         slab > 0);
        wgmma_commit();
    }
    wgmma_wait<0>();
    consumer<c>::pin_all(acc);
}

template <class c>
__global__ void __launch_bounds__(c::threads, 2)
    short_gemm(const __grid_constant__ gemm_maps maps, const __grid_constant__ short_params p)
{
    static_assert(c::wm * c::wn * c::cluster == 1 && c::boxes == 1 && !c::swapped && !c::promote,
                  "one warpgroup, one plain tile");
    using type = typename c::type;
    constexpr int warps = c::threads / 32;
    extern __shared__ __align__(1024) uint8_t shared[];
    const block_memory<c> memory(shared_address(shared), p.gemm.stages);
    const tile t = {(int)blockIdx.y, (int)blockIdx.x};
    wait_for_launch_before();
#pragma unroll 1
    for (int slab = 0; slab < p.gemm.slabs; ++slab) {
        word_rows<type, c::bm, warps> a;
        word_rows<type, c::bn, warps> b;
        a.load(p.a, p.gemm.out.m, p.k, t.row * c::bm, slab);
        b.load(p.b, p.gemm.out.n, p.k, t.column * c::bn, slab);
        a.store(memory.a(slab));
        b.store(memory.b(slab));
    }
    let_next_launch_begin();
    fence_async_shared();
    __syncthreads();
    const bool multiplies = threadIdx.x >= 128;
    if (!multiplies && !p.gemm.out.direct)
        return;
    float acc[c::mi][c::n / 2];
    if (multiplies)
        short_multiply<c>(acc, memory, p.gemm.slabs);
    const int warp = (int)uniform(threadIdx.x / 32) % 4;
    const int row = t.row * c::bm + warp * 16, column = t.column * c::bn;
    typename c::stager out = {maps.c, maps.tail, memory.staging(warp), p.gemm.out};
    if (p.gemm.out.direct) {
        store_ragged_rows<c>(out, acc, row, column);
        return;
    }
    out.put_all_sums(acc, 1, row, column);
    if (elect())
        bulk_wait_read<0>();
}

// ---- host ----

constexpr int most_short_slabs = 3;

template <class c> static cudaError_t allow_short()
{
    return cudaFuncSetAttribute(short_gemm<c>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                c::smem_bytes(most_short_slabs));
}

// Where C's rows are whole multiples of 16 bytes, they are stored by the copy engine.
template <class c> cudaError_t make_output_maps(gemm_maps *maps, const plumb_args *args)
{
    plumb_args whole = *args;
    whole.problem.k = slab_elements<typename c::type>; // of the operands' maps, which nobody uses
    return make_maps<c>(maps, &whole);
}

template <class type, int bm, int bn> int launch_short(const plumb_args *args, void *stream)
{
    using c = tiled<type, tiling{.tile_m = bm, .tile_n = bn}>;
    static const cudaError_t allowed = allow_short<c>();
    gemm_maps maps = {};
    short_params p = {};
    if (allowed != cudaSuccess || make_output_maps<c>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    p.gemm = make_params<c>(args, {PLUMB_RASTER_M, 1, 0});
    p.gemm.stages = p.gemm.slabs;
    p.a = static_cast<const uint8_t *>(args->a);
    p.b = static_cast<const uint8_t *>(args->b);
    p.k = (int)args->problem.k;
    if (p.gemm.slabs > most_short_slabs)
        return cudaErrorInvalidValue;
    cluster_launch launch(c::threads, 1, c::smem_bytes(p.gemm.slabs), stream);
    launch.config.gridDim = dim3(p.gemm.grid.columns, p.gemm.grid.rows);
    launch.begin_early();
    return cudaLaunchKernelEx(&launch.config, short_gemm<c>, maps, p);
}

template <class type>
static constexpr ragged_way short_ways[] = {{"short-64x64", launch_short<type, 64, 64>},
                                            {"short-64x128", launch_short<type, 64, 128>}};

// NULL: it is to be done in another way.
template <class type> static const ragged_way *find_short(const plumb_problem &problem)
{
    const int columns = short_columns(problem.m, problem.n, problem.k, type::bytes);
    return columns ? &short_ways<type>[columns == 128] : nullptr;
}

#endif
