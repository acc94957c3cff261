// SPDX-License-Identifier: Apache-2.0
//
// Rung 4, wgmma: the tensor cores read A and B from swizzled shared memory by descriptor, so the
// copies into fragment registers are gone. One buffer: loading and multiplying still take turns.
#include "ladder.cuh"

static __global__ void __launch_bounds__(wgmma_threads) wgmma_tf32(operands o)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    const uint32_t buffer = shared_address(shared);
    const int tile_row = blockIdx.y * wgmma_tile, tile_column = blockIdx.x * wgmma_tile;
    float acc[wgmma_tile / 2] = {};
    for (int k = 0; k < o.k; k += 32) {
        load_slabs(buffer, o, tile_row, tile_column, k);
        copy_async_wait<0>();
        fence_async_shared();
        __syncthreads();
        multiply_slab(acc, buffer);
        __syncthreads();
    }
    store_direct<wgmma_tile>(acc, o, tile_row + threadIdx.x / 32 * 16, tile_column);
}

static int launch(const plumb_args *args, void *stream)
{
    wgmma_tf32<<<grid_of(args, wgmma_tile, wgmma_tile), wgmma_threads, wgmma_slab,
                 (cudaStream_t)stream>>>(operands_of(args));
    return cudaGetLastError();
}

static const plumb_kernel kernel = ladder_row(
    "tf32-4-wgmma", "wgmma from swizzled shared memory, one buffer, 128x128x32",
    ladder_traits(wgmma_tile, wgmma_tile, 32, 1, wgmma_threads, wgmma_slab, 96, 2), launch);
PLUMB_LIBRARY("cuda", kernel)
