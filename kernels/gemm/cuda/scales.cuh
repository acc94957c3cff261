// SPDX-License-Identifier: Apache-2.0
//
// Block scales of FP8: an FP32 scale for each row and 128 of K of A, and one for 128 x 128 of B
// (kernel.h, PLUMB_SCALES_COLUMNS). 128 of K are one slab, so its sums are scaled where they are
// promoted: the addition that promoted sums cost anyway becomes a multiplication with it.
//
// A slab's scales travel with it: the producer's second warp copies them into shared memory, and
// the slab's full barrier counts its 32 lanes besides. Read straight from global memory they would
// be late: each slab's lie in lines of their own. cp.async takes scales at any address, so any
// number of rows is possible (TMA would want a multiple of four).
//
// block_scaled_config<c>: a promoted configuration c with block scales.
#ifndef PLUMB_SCALES_CUH
#define PLUMB_SCALES_CUH

#include "config.cuh"

constexpr int block_side = 128; // of K, and of columns

template <class base> struct block_scaled_config : base {
    static constexpr bool scaled = true;
    static constexpr int full_arrivals = 1 + 32;
    static constexpr int releases = 4;                // each warp reads scales for itself
    static constexpr int step = base::bn & -base::bn; // tiles begin at its multiples
    // Blocks of columns that a tile may lie in.
    static constexpr int blocks_b =
        step >= block_side ? base::bn / block_side
                           : (block_side - step + base::bn + block_side - 1) / block_side;
    static constexpr int scale_bytes = (base::bm + 4) * 4; // of one slab: A's, then B's
    static constexpr bool twofold = base::mi == 1 && 3 * base::n / 2 <= 192;

    static constexpr int smem_bytes(int stages)
    {
        return base::smem_bytes(stages) + stages * scale_bytes;
    }
    static constexpr int most_stages()
    {
        return (base::smem_limit - base::staging_bytes) / (base::stage_bytes + 16 + scale_bytes);
    }
    static_assert(base::promote && !base::swapped && base::wn == 1 && blocks_b <= 4, "scales");
    static_assert(base::box_k == block_side, "a slab is a block");
};

// Where the scales of a matrix product lie. Of A: [k][m]. Of B: [n / 128][k rounded up to 4].
struct scale_source {
    const float *a, *b;
    int rows, blocks_n, pitch_b; // pitch_b: from one block of columns to the next

    // p: as the host has made it, with all slabs.
    DEVICE scale_source(const gemm_params &p)
        : a(p.scale_a), b(p.scale_b), rows(p.out.m),
          blocks_n((p.out.n + block_side - 1) / block_side), pitch_b((p.slabs + 3) / 4 * 4)
    {
    }
};

// One warp's copies of slab `slab`'s scales for the tile at (row, column). What lies outside the
// matrices is left as it is: it scales what is not stored.
template <class c>
DEVICE void copy_scales(const scale_source &from, uint32_t to, int row, int column, int slab)
{
    const int lane = threadIdx.x % 32, left = from.rows - row;
    const float *a = from.a + (int64_t)slab * from.rows + row;
    if (from.rows % 4 == 0) {
        for (int i = lane * 4; i < c::bm; i += 128)
            if (i < left)
                copy_async_16(to + i * 4, a + i, true);
    } else {
        for (int i = lane; i < c::bm; i += 32)
            if (i < left)
                copy_async_4(to + i * 4, a + i);
    }
    const int block = column / block_side + lane;
    if (lane < c::blocks_b && block < from.blocks_n)
        copy_async_4(to + (c::bm + lane) * 4, from.b + (int64_t)block * from.pitch_b + slab);
}

// The producer's second warp: scales of slabs `first` to end - 1 of a tile, beside load_slabs().
template <class c>
DEVICE void load_scales(const scale_source &from, const block_memory<c> &memory, ring_position &at,
                        int stages, int row, int column, int first, int end)
{
#pragma unroll 1
    for (int slab = first; slab < end; ++slab) {
        barrier_wait(memory.empty(at.stage), at.phase ^ 1);
        copy_scales<c>(from, memory.scales(at.stage), row, column, slab);
        barrier_arrive_copied(memory.full(at.stage));
        at.advance(stages);
    }
}

struct no_factors {
};

// A thread's factors of one slab: for its rows, times those of the columns' blocks.
template <class c> struct slab_factors {
    float factor[c::blocks_b][c::mi][2];

    // first_row: the warpgroup's, in the tile.
    DEVICE void read(const block_memory<c> &memory, int stage, int first_row)
    {
        const uint32_t scales = memory.scales(stage);
        const int row = first_row + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
        float b[c::blocks_b];
#pragma unroll
        for (int k = 0; k < c::blocks_b; ++k)
            b[k] = load_shared_float(scales + (c::bm + k) * 4);
#pragma unroll
        for (int i = 0; i < c::mi; ++i)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const float a = load_shared_float(scales + (row + i * 64 + half * 8) * 4);
#pragma unroll
                for (int k = 0; k < c::blocks_b; ++k)
                    factor[k][i][half] = a * b[k];
            }
    }

    // edge: columns of the tile before B's second block begins, a multiple of `step`, so that all
    // columns of one step have the same factor: asked once for them, not for each of eight.
    DEVICE void add(float (&acc)[c::n / 2], const float (&part)[c::n / 2], int i, int edge) const
    {
#pragma unroll
        for (int j = 0; j < c::n / 2; j += 4) {
            float f[2] = {factor[0][i][0], factor[0][i][1]};
#pragma unroll
            for (int k = 1; k < c::blocks_b; ++k)
                if (2 * j / c::step * c::step >= edge + (k - 1) * block_side) {
                    f[0] = factor[k][i][0];
                    f[1] = factor[k][i][1];
                }
#pragma unroll
            for (int l = 0; l < 4; ++l)
                acc[j + l] += f[l / 2] * part[j + l];
        }
    }
};

#endif
