// SPDX-License-Identifier: Apache-2.0
//
// The persistent kernel in FP16.
#include "persistent.cuh"

using shape = tiled<fp16, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2}>;

static const plumb_kernel kernel = {
    "fp16-persistent",
    "persistent, warp-specialised, 128x256x64, stores overlap the next tile",
    persistent_traits<shape>(4, PLUMB_RASTER_M, 16),
    supports_tn<shape::type>,
    nullptr,
    nullptr,
    launch_row<shape, 4, PLUMB_RASTER_M, 16>};
PLUMB_LIBRARY("cuda", kernel)
