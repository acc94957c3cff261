// SPDX-License-Identifier: Apache-2.0
//
// Groups in FP8 with block scales, in one launch: tiles of 128 of a group's rows of B and up to 176
// of its rows of A.
//
// Measured beside cuBLASLt's own block scaling, a product for each group
// (baselines/recorded/h200/grouped): 1.12 to 1.46 where groups have up to some hundred rows or are
// skewed, 0.75 to 0.81 from a thousand on. Tiles of 128, 144 and 160 rows are 1 to 8 % slower
// there.
#include "grouped_scaled.cuh"

using shape = scaled_config<
    tiled<e4m3, tiling{.tile_m = 128, .tile_n = 176, .groups_m = 2, .swapped = true}>>;
constexpr int stages = 5, band = 2;
static_assert(scaled_bytes<shape>(stages, groups_most) <= shape::smem_limit);

static int launch(const plumb_form_args *args, void *stream)
{
    return launch_scaled_groups<shape>(args, stream, stages, band);
}

static const plumb_form_kernel kernel = {
    .kernel = {.name = "e4m3-grouped",
               .summary = "all groups in one launch, scales of 1x128 and 128x128",
               .traits = persistent_traits<shape>(stages, PLUMB_RASTER_N, band)},
    .supports = supports_scaled_groups<shape>,
    .workspace = grouped_workspace,
    .launch = launch,
};
PLUMB_FORM_LIBRARY("cuda", kernel)
