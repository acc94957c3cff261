// SPDX-License-Identifier: Apache-2.0
//
// The wgmma rungs before TMA: two warpgroups compute a 128 x 128 tile, 64 rows each; all 256
// threads copy slabs of 32 of K with cp.async into 128-byte-swizzled shared memory. Note the price
// of loading this way: no rounding to TF32 on the way in (only TMA does that), so the tensor core
// truncates.
#ifndef PLUMB_LADDER_WGMMA_CUH
#define PLUMB_LADDER_WGMMA_CUH

#include "ladder.cuh"
#include "wgmma.cuh"

constexpr int wgmma_tile = 128, wgmma_threads = 256;
constexpr int wgmma_operand = wgmma_tile * slab_bytes, wgmma_slab = 2 * wgmma_operand;

DEVICE void load_slabs(uint32_t buffer, const operands &o, int tile_row, int tile_column, int k)
{
    load_slab_swizzled<wgmma_tile, wgmma_threads>(buffer, o.a, tile_row, o.m, k, o.k);
    load_slab_swizzled<wgmma_tile, wgmma_threads>(buffer + wgmma_operand, o.b, tile_column, o.n, k,
                                                  o.k);
    copy_async_commit();
}

// acc += A * B over the slab in `buffer`; returns when the tensor cores have read it.
DEVICE void multiply_slab(float (&acc)[wgmma_tile / 2], uint32_t buffer)
{
    const int group = threadIdx.x / 128;
    const uint64_t a = operand_descriptor(buffer + group * 64 * slab_bytes);
    const uint64_t b = operand_descriptor(buffer + wgmma_operand);
    pin(acc);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step)
        wgmma<tf32, wgmma_tile>::multiply(acc, a + 2 * step, b + 2 * step, 1);
    wgmma_commit();
    wgmma_wait<0>();
    pin(acc);
}

// The whole of a tile with two buffers: the next slab is on its way while this one is multiplied.
DEVICE void double_buffered_tile(const operands &o, uint32_t buffers, int tile_row, int tile_column)
{
    float acc[wgmma_tile / 2] = {};
    load_slabs(buffers, o, tile_row, tile_column, 0);
    for (int k = 0, turn = 0; k < o.k; k += 32, turn ^= 1) {
        load_slabs(buffers + (turn ^ 1) * wgmma_slab, o, tile_row, tile_column, k + 32);
        copy_async_wait<1>();
        fence_async_shared();
        __syncthreads();
        multiply_slab(acc, buffers + turn * wgmma_slab);
        __syncthreads();
    }
    store_direct<wgmma_tile>(acc, o, tile_row + threadIdx.x / 32 * 16, tile_column);
}

#endif
