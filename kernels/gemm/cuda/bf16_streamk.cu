// SPDX-License-Identifier: Apache-2.0
//
// Stream-K in BF16: the slabs of all tiles in equal shares per block, tiles of 64 x 128 for m up to
// 128 and long K.
#include "streamk.cuh"

using shape = tiled<bf16, tiling{.tile_m = 64, .tile_n = 128}>;

static const plumb_kernel kernel = {"bf16-streamk",
                                    "stream-K over the workspace, 64x128x64",
                                    stream_traits<shape>(8, PLUMB_RASTER_M, 8),
                                    supports_stream<shape>,
                                    stream_workspace<shape>,
                                    nullptr,
                                    launch_stream_row<shape, 8, PLUMB_RASTER_M, 8>};
PLUMB_LIBRARY("cuda", kernel)
