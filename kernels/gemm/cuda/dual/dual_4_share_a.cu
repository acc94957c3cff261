// SPDX-License-Identifier: Apache-2.0
//
// The fused dual GEMM in pairs of blocks side by side, which share A's rows: each loads half of
// them for both. Of what L2 delivers that spares a sixth.
//
// Measured on 512 x 4096 x 7168: 81.5 us, as in pairs that share B.
#include "dual.cuh"

using shape =
    dual_config<tiled<bf16, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2, .cluster_n = 2}>>;

static const plumb_kernel kernel = persistent_row<shape, 4, PLUMB_RASTER_N, 8>("dual-4-share-a");
PLUMB_LIBRARY("cuda", kernel)
