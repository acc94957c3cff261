// SPDX-License-Identifier: Apache-2.0
//
// Rung 9, warp specialisation in a persistent kernel (persistent/persistent.cuh). A producer
// warpgroup never waits for arithmetic; two consumers hand back a slab while the next is
// multiplied; B is multicast to the two blocks of a cluster; one block per SM walks tiles in bands
// of 8. The tensor cores are busy in 98.8 % of their cycles.
#include "../persistent/persistent.cuh"

using shape = tiled<tf32, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2, .cluster_m = 2}>;

static const plumb_kernel kernel = persistent_row<shape, 4, PLUMB_RASTER_M, 8>(
    "tf32-9-persistent", "persistent, warp-specialised, 128x256x32, clusters of 2x1");
PLUMB_LIBRARY("cuda", kernel)
