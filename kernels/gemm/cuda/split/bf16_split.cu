// SPDX-License-Identifier: Apache-2.0
//
// Split-K in BF16 over a cluster of two blocks: tiles of 128 x 64, for m up to 128 and a long K.
#include "cluster.cuh"

using shape = tiled<bf16, tiling{.tile_m = 128, .tile_n = 64, .groups_m = 2}>;

static const plumb_kernel kernel = split_row<shape, 2, 6, PLUMB_RASTER_M, 8>(
    "bf16-split", "split-K over the shared memory of clusters of two, 128x64x64");
PLUMB_LIBRARY("cuda", kernel)
