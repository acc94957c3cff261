// SPDX-License-Identifier: Apache-2.0
//
// Ping-pong in TF32, for short K. Its FP32 results need too many registers to wait there while the
// next tile is computed, so two warpgroups take turns instead.
#include "persistent.cuh"

using shape = tiled<tf32, tiling{.tile_m = 128, .tile_n = 128, .cluster_m = 2, .pingpong = true}>;

static const plumb_kernel kernel = persistent_row<shape, 6, PLUMB_RASTER_M, 8>(
    "tf32-pingpong", "persistent, warp-specialised, ping-pong consumers, 128x128x32");
PLUMB_LIBRARY("cuda", kernel)
