// SPDX-License-Identifier: Apache-2.0
//
// K spread over all SMs in BF16: tiles of 64 x 64 with up to sixteen parts of K each,
// for tiny outputs.
#include "device.cuh"

using shape = tiled<bf16, tiling{.tile_m = 64, .tile_n = 64, .boxes = 2}>;

static const plumb_kernel kernel = spread_row<shape, 6, PLUMB_RASTER_M, 8>(
    "bf16-spread", "K spread over all SMs, through the workspace, 64x64x128");
PLUMB_LIBRARY("cuda", kernel)
