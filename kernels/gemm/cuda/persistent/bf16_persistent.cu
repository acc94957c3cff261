// SPDX-License-Identifier: Apache-2.0
//
// The persistent kernel in BF16, with the space's best all-round configuration for large problems.
// It has no cluster (multicast saves L2 traffic but costs 2000 cycles at the start), and walks
// tiles in bands of 16 rows.
#include "persistent.cuh"

using shape = tiled<bf16, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2}>;

static const plumb_kernel kernel = persistent_row<shape, 4, PLUMB_RASTER_M, 16>(
    "bf16-persistent", "persistent, warp-specialised, 128x256x64, stores overlap the next tile");
PLUMB_LIBRARY("cuda", kernel)
