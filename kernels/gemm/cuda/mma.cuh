// SPDX-License-Identifier: Apache-2.0
//
// The mma.sync rungs' common part: 128 threads compute a 128 x 128 tile, each warp a 64 x 64
// quarter of it as 4 x 8 instructions of 16 x 8 x 8.
#ifndef PLUMB_MMA_CUH
#define PLUMB_MMA_CUH

#include "ladder.cuh"

constexpr int mma_tile = 128, mma_threads = 128;

struct warp_tile {
    float c[4][8][4] = {};
    int row, column; // of this warp's quarter within the tile
    DEVICE warp_tile() : row(threadIdx.x / 32 % 2 * 64), column(threadIdx.x / 64 * 64)
    {
    }

    // Eight of K. a(row, k) and b(column, k) give TF32 words.
    template <class load_a, class load_b> DEVICE void multiply(load_a a, load_b b)
    {
        const int group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
        uint32_t x[4][4], y[8][2];
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j)
                x[i][j] = a(row + i * 16 + group + j % 2 * 8, member + j / 2 * 4);
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int j = 0; j < 2; ++j)
                y[i][j] = b(column + i * 8 + group, member + j * 4);
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 8; ++j)
                mma_tf32_16x8x8(c[i][j], x[i], y[j]);
    }

    DEVICE void store(const operands &o, int tile_row, int tile_column) const
    {
        const int group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 8; ++j)
#pragma unroll
                for (int r = 0; r < 4; ++r) {
                    const int y = tile_row + row + i * 16 + group + r / 2 * 8;
                    const int x = tile_column + column + j * 8 + member * 2 + r % 2;
                    if (y < o.m && x < o.n)
                        o.c[(int64_t)y * o.n + x] = c[i][j][r];
                }
    }
};

// Slabs of bk of K, one buffer: load, wait, multiply, again. Rows are padded by four words, so that
// the eight rows and four columns a fragment touches fall on 32 different banks.
template <int bk> __global__ void __launch_bounds__(mma_threads) shared_mma(operands o)
{
    constexpr int pitch = bk + 4, parts = bk / 4;
    __shared__ __align__(16) float a[mma_tile * pitch];
    __shared__ __align__(16) float b[mma_tile * pitch];
    const int tile_row = blockIdx.y * mma_tile, tile_column = blockIdx.x * mma_tile;
    warp_tile acc;
    for (int k = 0; k < o.k; k += bk) {
#pragma unroll
        for (int i = 0; i < mma_tile * parts / mma_threads; ++i) {
            const int index = i * mma_threads + threadIdx.x;
            const int row = index / parts, part = index % parts, at = k + part * 4;
            const bool in_a = tile_row + row < o.m && at < o.k;
            const bool in_b = tile_column + row < o.n && at < o.k;
            copy_async_16(shared_address(a + row * pitch + part * 4),
                          in_a ? o.a + (int64_t)(tile_row + row) * o.k + at : o.a, in_a);
            copy_async_16(shared_address(b + row * pitch + part * 4),
                          in_b ? o.b + (int64_t)(tile_column + row) * o.k + at : o.b, in_b);
        }
        copy_async_commit();
        copy_async_wait<0>();
        __syncthreads();
#pragma unroll
        for (int step = 0; step < bk; step += 8)
            acc.multiply([&](int r, int c) { return round_tf32(a[r * pitch + step + c]); },
                         [&](int r, int c) { return round_tf32(b[r * pitch + step + c]); });
        __syncthreads();
    }
    acc.store(o, tile_row, tile_column);
}

#endif
