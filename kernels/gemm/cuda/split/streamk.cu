// SPDX-License-Identifier: Apache-2.0
// module: bf16_streamk -DTYPE=bf16 -DNAME="bf16-streamk" -DTILE="64x128x64"
// module: tf32_streamk -DTYPE=tf32 -DNAME="tf32-streamk" -DTILE="64x128x32"
// module: e4m3_streamk -DTYPE=e4m3 -DNAME="e4m3-streamk" -DTILE="64x128x128"
//
// Stream-K: the slabs of all tiles, in equal shares per block. Tiles of 64 x 128, for m up to 128
// and a long K.
#include "stream.cuh"

using shape = tiled<TYPE, tiling{.tile_m = 64, .tile_n = 128}>;

static const plumb_kernel kernel =
    stream_row<shape, 8, PLUMB_RASTER_M, 8>(NAME, "stream-K over the workspace, " TILE);
PLUMB_LIBRARY("cuda", kernel)
