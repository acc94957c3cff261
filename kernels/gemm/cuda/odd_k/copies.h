// SPDX-License-Identifier: Apache-2.0
//
// Decides which products whose K is no multiple of 16 bytes are read as they are (odd_k/odd_k.cuh),
// where the words of a slab go, and in what words ragged rows of C (no multiple of 16 bytes) are
// stored. It is C, so that tests run without a GPU.
#ifndef PLUMB_GEMM_ODD_K_COPIES_H
#define PLUMB_GEMM_ODD_K_COPIES_H

#include <stdint.h>

#ifdef __CUDACC__
#define LOOSE_INLINE static __host__ __device__ __forceinline__
#else
#define LOOSE_INLINE static inline
#endif

// The distance in bytes from the beginning of an operand's part of a stage to word `word` of its
// row `row`. Rows have 128 bytes, whose chunks of 16 are permuted by row % 8.
LOOSE_INLINE uint32_t loose_place(uint32_t row, uint32_t word)
{
    return row * 128 + ((word / 4) ^ row % 8) * 16 + word % 4 * 4;
}

// The columns of a tile of 64 rows if a K of at most three slabs is to be loaded word by word at
// once (short_gemm); 0: another way is better. As measured, it is better up to 768 tiles. If rows
// of C are no multiple of 16 bytes, it is better for any number of tiles with a K of up to 33; then
// 128 columns of BF16 are faster once there are more 64-column tiles than SMs.
LOOSE_INLINE int32_t short_columns(int64_t m, int64_t n, int64_t k, int32_t bytes)
{
    const int32_t slab = 128, most_tiles = 768, most_ragged_tiles = 40000, sms = 132;
    const int32_t two_waves = 264;
    const int64_t rows = (m + 63) / 64, tiles = rows * ((n + 127) / 128);
    const int32_t ragged = n * bytes % 16 != 0;
    if (k * bytes > 3 * slab || tiles > (ragged && k <= 33 ? most_ragged_tiles : most_tiles))
        return 0;
    if (ragged)
        return bytes == 2 && rows * ((n + 63) / 64) > sms ? 128 : 64;
    return tiles > two_waves && k > 16 ? 128 : 64;
}

// Whether short_gemm takes the product and is not far behind: the copy engine loads a K of whole 16
// bytes sooner when K is over 33.
LOOSE_INLINE int32_t may_take_short(int64_t m, int64_t n, int64_t k, int32_t bytes)
{
    const int64_t slab = 128, most_edge = 1 << 22;
    return k * bytes <= 3 * slab && m <= most_edge && n <= most_edge &&
           (k <= 33 || k * bytes % 16 != 0 || n * bytes % 16 != 0);
}

// Whether sheet_gemm takes the product and is not far behind. It is for a C that takes longer to
// write than a launch takes to begin. In FP32 a C beside two slabs of K is written faster so, too.
LOOSE_INLINE int32_t may_take_sheet(int64_t m, int64_t n, int64_t k, int32_t bytes)
{
    const int64_t most_edge = 1 << 22;
    return k <= 64 && m >= 64 && n * bytes >= 256 && m * n * bytes >= 1000000 && m <= most_edge &&
           n <= most_edge;
}

// Whether a K of whole 16 bytes is nevertheless loaded word by word (short_gemm), because it is too
// short for the copy engine's slabs of 128 bytes to pay: up to 33 if rows of C are no multiple of
// 16 bytes, else up to 12 (for longer ones it is no faster).
LOOSE_INLINE int32_t loads_words(int64_t m, int64_t n, int64_t k, int32_t bytes)
{
    return m > 1 && k <= (n * bytes % 16 ? 33 : 12);
}

// The longest K that outer_gemm takes.
enum { most_outer_k = 16 };

// The longest K for which outer_gemm writes C fastest; 0: none. As measured, it depends on C's size
// and on whether C's rows are whole 16 bytes, which other ways then store by the copy engine.
// Blocks write 128 x 16 bytes of a row, so C must have at least half of that.
LOOSE_INLINE int32_t outer_longest_k(int64_t m, int64_t n, int32_t bytes)
{
    const int64_t most_edge = 1 << 22;
    const int32_t ragged = n * bytes % 16 != 0;
    const double millions = 1e-6 * (double)m * (double)n;
    if (m < 16 || n * bytes < 1000 || m > most_edge || n > most_edge)
        return 0;
    if (bytes == 2 && ragged)
        return millions < 1.5 ? 1 : millions < 4 ? 7 : millions < 16 ? 9 : millions < 28 ? 12 : 16;
    if (bytes == 2)
        return millions < 2.5 ? 1 : millions < 12 ? 3 : millions < 40 ? 5 : 8;
    if (ragged && millions < 4)
        return millions < 1.5 ? 2 : 3;
    if (ragged)
        return millions < 12 ? 5 : millions < 28 ? 13 : 16;
    return millions < 12 ? 2 : millions < 40 ? 5 : 13;
}

// Whether outer_gemm takes the product: see outer_longest_k().
LOOSE_INLINE int32_t may_take_outer(int64_t m, int64_t n, int64_t k, int32_t bytes)
{
    const int64_t most_edge = 1 << 22;
    return k <= most_outer_k && m >= 16 && m <= most_edge && n * bytes >= 1000 && n <= most_edge;
}

// In FP32 with rows of C of whole 16 bytes, the copy engine is better for a K of 8 or 12.
LOOSE_INLINE int32_t takes_outer(int64_t m, int64_t n, int64_t k, int32_t bytes)
{
    const int32_t whole = bytes == 4 && n % 4 == 0 && k % 4 == 0 && k > 4;
    return !whole && k <= outer_longest_k(m, n, bytes);
}

// The number of rows of C that a block of outer_gemm writes. Each block reads its part of B anew.
// But if C does not stay in L2, blocks of few rows write faster, because these lie closer together.
// There are at least two blocks for each SM, if there are enough rows.
LOOSE_INLINE int32_t outer_rows(int64_t m, int64_t n, int64_t k, int32_t bytes)
{
    const int64_t columns = 16 / bytes, wanted = 256, in_cache = 48000000;
    const int64_t wide = columns * ((n + 128 * columns - 1) / (128 * columns));
    int32_t rows = 64;
    if (m * n * bytes > in_cache && bytes == 2)
        rows = k <= 3 ? 8 : k <= 5 ? 16 : k <= 12 ? 32 : 64;
    else if (m * n * bytes > in_cache)
        rows = k <= 5 ? 8 : k <= 12 ? 16 : 64;
    while (rows > 8 && wide * ((m + columns * rows - 1) / (columns * rows)) < wanted)
        rows /= 2;
    return rows;
}

// A part of a row of 2-byte elements, divided for stores of 4 bytes: the element before the first
// whole word if there is one, the whole words, and the element after them if there is one.
struct loose_part {
    int32_t head, words, tail;
};

// The part with `left` elements (none, if negative), from element `begin` of a matrix on.
LOOSE_INLINE struct loose_part loose_part_of(int64_t begin, int32_t left)
{
    struct loose_part p = {0, 0, 0};
    if (left > 0) {
        p.head = (int32_t)(begin % 2);
        p.words = (left - p.head) / 2;
        p.tail = left - p.head - 2 * p.words;
    }
    return p;
}

#endif
