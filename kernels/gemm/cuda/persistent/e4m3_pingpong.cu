// SPDX-License-Identifier: Apache-2.0
//
// Ping-pong in FP8 (e4m3 to BF16) with fast accumulation. A slab of FP8 holds twice the K of a slab
// of BF16, so a tile has half as many slabs, and its other costs weigh twice as much.
#include "persistent.cuh"

using shape = tiled<e4m3, tiling{.tile_m = 128, .tile_n = 176, .pingpong = true}>;

static const plumb_kernel kernel = persistent_row<shape, 5, PLUMB_RASTER_M, 16>(
    "e4m3-pingpong",
    "persistent, warp-specialised, ping-pong consumers, FP8 with fast accumulation, 128x176x128");
PLUMB_LIBRARY("cuda", kernel)
