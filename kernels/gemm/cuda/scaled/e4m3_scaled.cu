// SPDX-License-Identifier: Apache-2.0
//
// The persistent kernel in FP8 (e4m3 to BF16) with block scales, 1x128 of A and 128x128 of B. The
// sum over each 128 of K is scaled when it is added in FP32.
#include "scaled.cuh"

using shape = block_scaled_config<
    tiled<e4m3, tiling{.tile_m = 128, .tile_n = 128, .groups_m = 2, .promote = true, .pieces = 1}>>;

static constexpr plumb_kernel plain = persistent_row<shape, 6, PLUMB_RASTER_M, 8>(
    "e4m3-scaled", "persistent, warp-specialised, FP8 with block scales, 128x128x128");
static const plumb_form_kernel kernel = scaled_form<plain.supports, plain.launch>(plain);
PLUMB_FORM_LIBRARY("cuda", kernel)
