// SPDX-License-Identifier: Apache-2.0
//
// Ping-pong in BF16: each consumer warpgroup computes whole 128 x 176 tiles, and stores a tile
// while the other warpgroup multiplies. A warpgroup hands over its turn while its last slab is
// still being multiplied.
#include "persistent.cuh"

using shape = tiled<bf16, tiling{.tile_m = 128, .tile_n = 176, .pingpong = true}>;

static const plumb_kernel kernel = persistent_row<shape, 5, PLUMB_RASTER_M, 16>(
    "bf16-pingpong", "persistent, warp-specialised, ping-pong consumers, 128x176x64");
PLUMB_LIBRARY("cuda", kernel)
