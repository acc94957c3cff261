// SPDX-License-Identifier: Apache-2.0
//
// Which products of a K that is no multiple of 16 bytes are copied as they are
// (odd_k/copy_words.cuh, odd_k/short_k.cuh, odd_k/tiny_k.cuh, odd_k/copy_chunks.cuh), where the
// words of a slab go, and in what words ragged rows of C are stored (odd_k/short_k.cuh). In C, so
// that tests hold it where there is no GPU.
#ifndef PLUMB_GEMM_ODD_K_COPIES_H
#define PLUMB_GEMM_ODD_K_COPIES_H

#include <stdint.h>

#ifdef __CUDACC__
#define LOOSE_INLINE static __host__ __device__ __forceinline__
#else
#define LOOSE_INLINE static inline
#endif

// Bytes from the begin of an operand's part of a stage to word `word` of its row `row`: rows of 128
// bytes, whose chunks of 16 are permuted by row % 8.
LOOSE_INLINE uint32_t loose_place(uint32_t row, uint32_t word)
{
    return row * 128 + ((word / 4) ^ row % 8) * 16 + word % 4 * 4;
}

// Tiles of tile_m rows by 64 columns, K among `split` blocks of a cluster. tile_m 0: the problem is
// better done in another way.
struct loose_choice {
    int32_t tile_m, split;
};

// Where words are copied one by one (odd_k/copy_words.cuh). As measured on an H200
// (kernels/NOTES.md): a K of at most five slabs if the output is no more than two waves of tiles,
// and of at most twelve, in two, with up to 64 rows if there are tiles for half the SMs.
LOOSE_INLINE struct loose_choice loose_choose(int64_t m, int64_t n, int64_t k)
{
    const int32_t most_short_k = 160, most_short_tiles = 264;
    const int32_t most_k = 384, few_rows = 64, least_columns = 4096;
    const int32_t tile_m = m <= 16 ? 16 : m <= few_rows ? 64 : 128;
    const int64_t tiles = (m + tile_m - 1) / tile_m * ((n + 63) / 64);
    struct loose_choice c = {0, 1};
    if (k <= most_short_k && tiles <= most_short_tiles) {
        c.tile_m = tile_m;
    } else if (k > most_short_k && k <= most_k && m <= few_rows && n >= least_columns) {
        c.tile_m = tile_m;
        c.split = 2;
    }
    return c;
}

// Tiles of tile_m x tile_n, K among `split` blocks of a cluster; wide: a stage has 256 bytes of
// each row, not 128. tile_m 0: the problem is better done in another way.
struct shifted_choice {
    int32_t tile_m, tile_n, split, wide;
};

// Where few rows and a longer K are copied in chunks of 16 bytes (odd_k/copy_chunks.cuh). As
// measured: wide where each block has an SM of its own, except that up to 16 rows leave room for
// two.
LOOSE_INLINE struct shifted_choice shifted_choose(int64_t m, int64_t n, int64_t k)
{
    const int32_t least_k = 161, sms = 132;
    const int32_t alone = 2 * ((n + 63) / 64) <= sms;
    const struct shifted_choice none = {0, 0, 0, 0}, rows16 = {16, 64, 2, 1},
                                rows32 = {32, 64, 2, alone}, rows64 = {64, 64, 2, alone},
                                rows64_few = {64, 64, 4, 0}, rows64_many = {64, 128, 2, 0},
                                rows128 = {128, 128, 2, 0};
    if (k < least_k || m > 128 || n < (m > 64 ? 7168 : m > 32 ? 3000 : 4096))
        return none;
    if (m <= 32)
        return m <= 16 ? rows16 : rows32;
    if (m > 64)
        return rows128;
    return n < 4096 ? rows64_few : n < 7168 ? rows64 : rows64_many;
}

// Word `word` of a slab of a row whose first word lies `shift` words into a chunk of 16 bytes,
// where whole chunks were copied, eight of a row to a slab: bytes from the slab's begin. after: of
// the slab after.
LOOSE_INLINE uint32_t shifted_place(uint32_t row, uint32_t word, uint32_t shift, int32_t *after)
{
    const uint32_t at = word + shift;
    *after = at >= 32;
    return row * 128 + at % 32 * 4;
}

// Columns of a tile of 64 rows where a K of at most three slabs is loaded word by word at once
// (odd_k/short_k.cuh); 0: the problem is better done in another way. As measured, up to 768 tiles.
// Where rows of C are no multiple of 16 bytes, any number of them (of a K of up to 33), and 128
// columns of BF16 are faster once not every tile of 64 has an SM of its own.
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

// A K of whole 16 bytes that is loaded word by word nonetheless (odd_k/short_k.cuh), for it is too
// short for the copy engine's slabs of 128 bytes to be worth their making: up to 33 where rows of C
// are no multiple of 16 bytes, else up to 12 (longer ones as fast or slower).
LOOSE_INLINE int32_t loads_words(int64_t m, int64_t n, int64_t k, int32_t bytes)
{
    return m > 1 && k <= (n * bytes % 16 ? 33 : 12);
}

// The longest K that odd_k/tiny_k.cuh takes.
enum { most_outer_k = 16 };

// The longest K with which C is best written by odd_k/tiny_k.cuh; 0: none. As measured, by C's size
// and whether its rows are whole 16 bytes, which others then store by the copy engine. Blocks write
// 128 x 16 bytes of a row, so C has at least half of that.
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

// In FP32 with rows of C of whole 16 bytes, a K of 8 or 12 is better left to the copy engine.
LOOSE_INLINE int32_t takes_outer(int64_t m, int64_t n, int64_t k, int32_t bytes)
{
    const int32_t whole = bytes == 4 && n % 4 == 0 && k % 4 == 0 && k > 4;
    return !whole && k <= outer_longest_k(m, n, bytes);
}

// Rows of C that a block of odd_k/tiny_k.cuh writes. Each block reads its part of B anew; but where
// C does not stay in L2, blocks of few rows, which lie closer together, write faster. At least two
// blocks for each SM, if there are so many.
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

// Part of a row of 2-byte elements, in whole words of 4 bytes: the element before the first whole
// word if there is one, so many words, and the element after if there is one.
struct loose_part {
    int32_t head, words, tail;
};

// Of `left` elements (none, if negative) from element `begin` of a matrix on.
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
