// SPDX-License-Identifier: Apache-2.0
//
// One tile per block in BF16 that begins soon: tiles of 64 x 64, for outputs that make about one
// wave of such tiles.
#include "tile_per_block.cuh"

using shape = tiled<bf16, tiling{.tile_m = 64, .tile_n = 64, .boxes = 2}>;

static const plumb_kernel kernel = brief_row<shape, 4, PLUMB_RASTER_M, 4>(
    "bf16-brief", "one tile per block, soon begun, 64x64x128");
PLUMB_LIBRARY("cuda", kernel)
