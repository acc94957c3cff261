// SPDX-License-Identifier: Apache-2.0
//
// Rows of C that are no multiple of 16 bytes, which the copy engine does not store, in words of 4
// bytes: neighbouring lanes store neighbouring words of a row. The sums go through shared memory,
// from which halves of two words become one where a row begins in the middle of a word. (Stored
// element by element from registers, 1009 x 1013 of BF16 take 3.5 us more.)
#ifndef PLUMB_RAGGED_ROWS_CUH
#define PLUMB_RAGGED_ROWS_CUH

#include "epilogue.cuh"
#include "loose.h"

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

#endif
