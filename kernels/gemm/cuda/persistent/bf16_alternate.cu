// SPDX-License-Identifier: Apache-2.0
//
// Two sets of accumulators in BF16: the warpgroups share 128 x 192 tiles, and while one tile's sums
// are converted and stored the next tile's are made in the other set.
//
// Measured on 5120 x 13824 x 5120 (H200, cold, interleaved with cuBLASLt; kernels/README.md): 0.994
// of cuBLASLt's best, with held results 0.977, 128 x 256 with held results 0.962.
#include "persistent.cuh"

using shape = tiled<bf16, tiling{.tile_m = 128, .tile_n = 192, .groups_m = 2}>;

static const plumb_kernel kernel = {
    "bf16-alternate",
    "persistent, warp-specialised, two sets of accumulators, 128x192x64",
    persistent_traits<shape>(4, PLUMB_RASTER_M, 16),
    supports_tn<shape::type>,
    nullptr,
    nullptr,
    launch_row<shape, 4, PLUMB_RASTER_M, 16>};
PLUMB_LIBRARY("cuda", kernel)
