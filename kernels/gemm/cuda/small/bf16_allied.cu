// SPDX-License-Identifier: Apache-2.0
//
// One tile per block in BF16: 128 x 72 of every second row, in clusters of 2 x 2 that end without
// meeting. It is for about 100 tiles, where every second row of A and B begins in the middle of a
// sector of L2.
#include "tile_per_block_clusters.cuh"

using shape = tiled<bf16, allied_tiling>;

static const plumb_kernel kernel = {"bf16-allied",
                                    "one tile per block, in clusters that end without meeting",
                                    brief_traits<shape>(allied_stages, PLUMB_RASTER_M, 1),
                                    supports_allied<shape>,
                                    nullptr,
                                    nullptr,
                                    launch_allied_row<shape, allied_stages>};
PLUMB_LIBRARY("cuda", kernel)
