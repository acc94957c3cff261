// SPDX-License-Identifier: Apache-2.0
//
// Rung 6, the order of blocks: bands of 8 tile rows are walked column by column, so that blocks
// that run at the same time share rows of A and of B in L2. This gains nothing under the power
// limit, and 6 % where the clock is free: the rung before was not waiting for L2.
#include "ladder.cuh"

constexpr int band = 8;

static __global__ void __launch_bounds__(wgmma_threads)
    banded_tf32(operands o, int rows, int columns)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    const tile t = banded_tile(blockIdx.x, rows, columns, band);
    double_buffered_tile(o, shared_address(shared), t.row * wgmma_tile, t.column * wgmma_tile);
}

static int launch(const plumb_args *args, void *stream)
{
    const int error = cudaFuncSetAttribute(banded_tf32, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           2 * wgmma_slab);
    if (error)
        return error;
    const dim3 grid = grid_of(args, wgmma_tile, wgmma_tile);
    banded_tf32<<<grid.x * grid.y, wgmma_threads, 2 * wgmma_slab, (cudaStream_t)stream>>>(
        operands_of(args), grid.y, grid.x);
    return cudaGetLastError();
}

static const plumb_kernel kernel =
    ladder_row("tf32-6-banded", "wgmma, two cp.async buffers, tiles in bands of 8 rows, 128x128x32",
               ladder_traits(wgmma_tile, wgmma_tile, 32, 2, wgmma_threads, 2 * wgmma_slab, 126, 2,
                             PLUMB_RASTER_M, band),
               launch);
PLUMB_LIBRARY("cuda", kernel)
