// SPDX-License-Identifier: Apache-2.0
//
// The fused dual GEMM in FP8 with fast accumulation: dual/dual_2_fused.cu for another type.
#include "dual.cuh"

using shape = dual_config<tiled<e4m3, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2}>>;

static const plumb_kernel kernel = persistent_row<shape, 4, PLUMB_RASTER_M, 8>("dual-8-fp8");
PLUMB_LIBRARY("cuda", kernel)
