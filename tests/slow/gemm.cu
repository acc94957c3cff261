// SPDX-License-Identifier: Apache-2.0
//
// A tensor-core product that takes a little longer than it must: the persistent wgmma kernel of
// kernels/gemm/cuda as it is, 128 x 256, in BF16 or (SLOW_E4M3) FP8, given SLOW_EXTRA slabs of K
// too many. What lies beyond K is read as zeros, so the result stays right; base and head have the
// same device code and differ in one argument of the launch. A slab is 128 bytes of K: one more of
// the 192 that K = 12288 (BF16) or 24576 (FP8) has is +0.5 %, one of 64 is +1.6 %.
//
// Under the power limit its time follows the clock, which that of slow.cu's kernels hardly does.
#include "beside.cuh"
#include "gemm/cuda/persistent/persistent.cuh"

#ifndef SLOW_EXTRA
#define SLOW_EXTRA 0
#endif
#ifdef SLOW_E4M3
using shape = tiled<e4m3, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2}>;
#else
using shape = tiled<bf16, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2}>;
#endif
constexpr schedule order = {PLUMB_RASTER_M, 16, 4}; // as bf16-persistent and e4m3-persistent

BESIDE(SLOW_BEFORE, 1)

// launch_gemm() of persistent.cuh, but for the slabs.
static int launch(const plumb_args *args, void *stream)
{
    gemm_maps maps = {};
    if (make_maps<shape>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    gemm_params p = make_params<shape>(args, order);
    p.slabs += SLOW_EXTRA;
    cluster_launch launch(shape::threads, 1, shape::smem_bytes(order.stages), stream);
    static const int resident = resident_clusters<shape>(persistent_gemm<shape>, &launch.config);
    if (resident == 0)
        return cudaErrorInvalidConfiguration;
    launch.config.gridDim = dim3(p.grid.tiles < resident ? p.grid.tiles : resident);
    return cudaLaunchKernelEx(&launch.config, persistent_gemm<shape>, maps, p);
}

BESIDE(SLOW_AFTER, 101)

static const plumb_kernel kernel = {SLOW_NAME,
                                    "a tensor-core product, and a little more than it must do",
                                    persistent_traits<shape>(4, PLUMB_RASTER_M, 16),
                                    supports_tn<shape::type>,
                                    nullptr,
                                    nullptr,
                                    launch};
PLUMB_LIBRARY("cuda", kernel)
