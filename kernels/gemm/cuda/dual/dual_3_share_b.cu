// SPDX-License-Identifier: Apache-2.0
//
// The fused dual GEMM in pairs of blocks, one below the other, that share their columns: one block
// loads B1's rows for both, the other B2's. Of what L2 delivers that spares a third.
//
// It loses: 512 x 4096 x 7168 takes 81.1 us with the sharing and 78.3 us without it. The first slab
// comes 1.6 us later, and the bandwidth of L2, which it spares, was not the limit.
#include "dual.cuh"

using shape =
    dual_config<tiled<bf16, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2, .cluster_m = 2}>>;

static const plumb_kernel kernel = persistent_row<shape, 4, PLUMB_RASTER_M, 8>("dual-3-share-b");
PLUMB_LIBRARY("cuda", kernel)
