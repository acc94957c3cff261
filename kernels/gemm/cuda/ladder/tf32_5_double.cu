// SPDX-License-Identifier: Apache-2.0
//
// Rung 5, double buffering: slab k + 1 is copied while slab k is multiplied.
#include "ladder.cuh"

static __global__ void __launch_bounds__(wgmma_threads) double_tf32(operands o)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    double_buffered_tile(o, shared_address(shared), blockIdx.y * wgmma_tile,
                         blockIdx.x * wgmma_tile);
}

static int launch(const plumb_args *args, void *stream)
{
    const int error = cudaFuncSetAttribute(double_tf32, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           2 * wgmma_slab);
    if (error)
        return error;
    double_tf32<<<grid_of(args, wgmma_tile, wgmma_tile), wgmma_threads, 2 * wgmma_slab,
                  (cudaStream_t)stream>>>(operands_of(args));
    return cudaGetLastError();
}

static const plumb_kernel kernel = ladder_row(
    "tf32-5-double", "wgmma, two cp.async buffers, 128x128x32",
    ladder_traits(wgmma_tile, wgmma_tile, 32, 2, wgmma_threads, 2 * wgmma_slab, 124, 2), launch);
PLUMB_LIBRARY("cuda", kernel)
