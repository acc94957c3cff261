// SPDX-License-Identifier: Apache-2.0
//
// Groups in FP8 with block scales, in one launch: tiles of 256 of a group's rows of B by up to 128
// of A's, or of groups of many rows of 256 of A's by 128 of B's.
//
// Measured beside cuBLASLt's own block scaling, a product for each group
// (baselines/recorded/h200/grouped): 1.23 to 1.67 where groups have up to some hundred rows or are
// skewed, 1.05 to 1.14 from a thousand on. Bands of 2 and 4, and many from 97 and 129: the same.
#include "grouped_scaled.cuh"

using shape = scaled_config<
    tiled<e4m3, tiling{.tile_m = 256, .tile_n = 128, .groups_m = 2, .swapped = true}>>;
constexpr int stages = 4, band = 8, many_from = 65;
static_assert(grouped_bytes<shape, scaled_ring>(stages, groups_most) <= shape::smem_limit);

static int launch(const plumb_form_args *args, void *stream)
{
    return launch_scaled_groups<shape>(args, stream, stages, band, many_from);
}

static const plumb_form_kernel kernel = {
    .kernel = {.name = "e4m3-grouped",
               .summary = "all groups in one launch, scales of 1x128 and 128x128",
               .traits = scaled_groups_traits<shape>(stages, band)},
    .supports = supports_scaled_groups<shape>,
    .workspace = grouped_workspace,
    .launch = launch,
};
PLUMB_FORM_LIBRARY("cuda", kernel)
