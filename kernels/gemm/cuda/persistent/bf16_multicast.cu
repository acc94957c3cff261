// SPDX-License-Identifier: Apache-2.0
//
// The persistent kernel in BF16 with clusters of two, which share B by multicast.
#include "persistent.cuh"

using shape = tiled<bf16, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2, .cluster_m = 2}>;

static const plumb_kernel kernel = {"bf16-multicast",
                                    "persistent, warp-specialised, 128x256x64, clusters of 2x1",
                                    persistent_traits<shape>(4, PLUMB_RASTER_M, 8),
                                    supports_tn<shape::type>,
                                    nullptr,
                                    nullptr,
                                    launch_row<shape, 4, PLUMB_RASTER_M, 8>};
PLUMB_LIBRARY("cuda", kernel)
