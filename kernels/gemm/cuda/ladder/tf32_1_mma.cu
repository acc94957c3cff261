// SPDX-License-Identifier: Apache-2.0
//
// Rung 1, TF32 tensor cores: mma.sync with every fragment read straight from global memory. Each
// warp reads its 64 rows of A and of B itself; only L1 keeps the block's four warps from
// fetching them four times. Each fragment is a 4-byte load, so the limit is the rate of requests
// to L1, not arithmetic.
#include "ladder.cuh"

static __global__ void __launch_bounds__(mma_threads) global_mma(operands o)
{
    const int tile_row = blockIdx.y * mma_tile, tile_column = blockIdx.x * mma_tile;
    warp_tile acc;
    for (int k = 0; k < o.k; k += 8) {
        const auto read = [&](const float *matrix, int row, int limit, int column) {
            const bool inside = row < limit && k + column < o.k;
            return inside ? round_tf32(matrix[(int64_t)row * o.k + k + column]) : 0u;
        };
        acc.multiply([&](int r, int c) { return read(o.a, tile_row + r, o.m, c); },
                     [&](int r, int c) { return read(o.b, tile_column + r, o.n, c); });
    }
    acc.store(o, tile_row, tile_column);
}

static int launch(const plumb_args *args, void *stream)
{
    global_mma<<<grid_of(args, mma_tile, mma_tile), mma_threads, 0, (cudaStream_t)stream>>>(
        operands_of(args));
    return cudaGetLastError();
}

static const plumb_kernel kernel =
    ladder_row("tf32-1-mma", "mma.sync from global memory, 128x128",
               ladder_traits(mma_tile, mma_tile, 8, 1, mma_threads, 0, 220, 2, PLUMB_RASTER_N, 1,
                             PLUMB_MMA_SYNC),
               launch);
PLUMB_LIBRARY("cuda", kernel)
