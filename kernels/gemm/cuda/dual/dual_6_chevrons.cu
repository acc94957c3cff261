// SPDX-License-Identifier: Apache-2.0
//
// dual/dual_2_fused.cu launched by <<<>>> and not by cudaLaunchKernelEx: the same machine code, so
// the same time. It is here to show that.
#include "dual.cuh"

using shape = dual_config<tiled<bf16, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2}>>;
constexpr int stages = 4;

static int launch(const plumb_args *args, void *stream)
{
    gemm_maps maps = {};
    cudaLaunchConfig_t unused = {};
    static const int resident = resident_clusters<shape>(persistent_gemm<shape>, &unused);
    if (resident == 0 || make_maps<shape>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    const gemm_params p = make_params<shape>(args, {PLUMB_RASTER_M, 8, stages});
    const int blocks = p.grid.tiles < resident ? p.grid.tiles : resident;
    persistent_gemm<shape>
        <<<blocks, shape::threads, shape::smem_bytes(stages), (cudaStream_t)stream>>>(maps, p);
    return cudaGetLastError();
}

static const plumb_kernel kernel = {"dual-6-chevrons",
                                    "the fused dual GEMM launched by <<<>>>",
                                    persistent_traits<shape>(stages, PLUMB_RASTER_M, 8),
                                    supports_tn<bf16, PLUMB_DUAL_SILU>,
                                    nullptr,
                                    nullptr,
                                    launch};
PLUMB_LIBRARY("cuda", kernel)
