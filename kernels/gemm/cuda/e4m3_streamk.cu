// SPDX-License-Identifier: Apache-2.0
//
// Stream-K in FP8 (e4m3 to BF16, fast sums): the slabs of all tiles in equal shares per block,
// tiles of 64 x 128 for m up to 128 and long K.
#include "streamk.cuh"

using shape = tiled<e4m3, tiling{.tile_m = 64, .tile_n = 128}>;

static const plumb_kernel kernel = {"e4m3-streamk",
                                    "stream-K over the workspace, 64x128x128",
                                    stream_traits<shape>(8, PLUMB_RASTER_M, 8),
                                    supports_stream<shape>,
                                    stream_workspace<shape>,
                                    nullptr,
                                    launch_stream_row<shape, 8, PLUMB_RASTER_M, 8>};
PLUMB_LIBRARY("cuda", kernel)
