// SPDX-License-Identifier: Apache-2.0
//
// The persistent kernel in FP8 (e4m3 to BF16) with fast accumulation: sums stay in the tensor core,
// which keeps about 14 bits of each step's products.
#include "persistent.cuh"

using shape = tiled<e4m3, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2}>;

static const plumb_kernel kernel = persistent_row<shape, 4, PLUMB_RASTER_M, 16>(
    "e4m3-persistent", "persistent, warp-specialised, FP8 with fast accumulation, 128x256x128");
PLUMB_LIBRARY("cuda", kernel)
