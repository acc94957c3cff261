// SPDX-License-Identifier: Apache-2.0
//
// Which products are copied word by word (loose.cuh, short.cuh), where the words of a slab go, and
// in what words ragged rows of C are stored (ragged_rows.cuh). In C, so that tests hold it where
// there is no GPU.
#ifndef PLUMB_LOOSE_H
#define PLUMB_LOOSE_H

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

// As measured on an H200 (kernels/NOTES.md): a K of at most five slabs if the output is no more
// than two waves of tiles, and up to 64 rows if there are tiles for half the SMs, which have K in
// two.
LOOSE_INLINE struct loose_choice loose_choose(int64_t m, int64_t n, int64_t k)
{
    const int32_t most_short_k = 160, most_short_tiles = 264, few_rows = 64, least_columns = 4096;
    const int32_t tile_m = m <= 16 ? 16 : m <= few_rows ? 64 : 128;
    const int64_t tiles = (m + tile_m - 1) / tile_m * ((n + 63) / 64);
    struct loose_choice c = {0, 1};
    if (k <= most_short_k && tiles <= most_short_tiles) {
        c.tile_m = tile_m;
    } else if (k > most_short_k && m <= few_rows && n >= least_columns) {
        c.tile_m = tile_m;
        c.split = 2;
    }
    return c;
}

// Columns of a tile of 64 rows where a K of at most three slabs is loaded word by word at once
// (short.cuh); 0: the problem is better done in another way. As measured, up to 768 tiles. Where
// rows of C are no multiple of 16 bytes, 128 columns of BF16 are faster once not every tile of 64
// has an SM of its own.
LOOSE_INLINE int32_t short_columns(int64_t m, int64_t n, int64_t k, int32_t bytes)
{
    const int32_t slab = 128, most_tiles = 768, sms = 132, two_waves = 264;
    const int64_t rows = (m + 63) / 64, tiles = rows * ((n + 127) / 128);
    if (k * bytes > 3 * slab || tiles > most_tiles)
        return 0;
    if (n * bytes % 16 != 0)
        return bytes == 2 && rows * ((n + 63) / 64) > sms ? 128 : 64;
    return tiles > two_waves && k > 16 ? 128 : 64;
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
