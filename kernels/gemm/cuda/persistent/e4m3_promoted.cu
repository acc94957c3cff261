// SPDX-License-Identifier: Apache-2.0
//
// The persistent kernel in FP8 (e4m3 to BF16) with promoted sums: each 128 of K is summed on
// its own, and the sum is added in FP32. Two partial sums take turns, so that additions and
// matrix instructions overlap.
#include "persistent.cuh"

using shape =
    tiled<e4m3,
          tiling{.tile_m = 128, .tile_n = 128, .groups_m = 2, .cluster_m = 2, .promote = true}>;

static const plumb_kernel kernel = persistent_row<shape, 6, PLUMB_RASTER_M, 8>(
    "e4m3-promoted",
    "persistent, warp-specialised, FP8 with sums promoted every 128 of K, 128x128x128");
PLUMB_LIBRARY("cuda", kernel)
