// SPDX-License-Identifier: Apache-2.0
//
// Groups in BF16, in one launch: tiles of 128 of a group's rows of B and up to 192 of its rows of
// A.
//
// Measured beside cuBLASLt, a product for each group in a CUDA graph of up to eight branches
// (baselines/recorded/h200/grouped): 1.03 to 1.06 where each group has 20 tokens or thousands,
// since memory and power decide there, and 1.15 to 1.64 where groups have some hundred or are
// skewed; but at the higher clock of single launches 0.93 to 1.03 from a thousand tokens on.
// Tried and rejected: the tiles of a block fixed by its number, not taken as they come (2 %
// slower); at most 144, 160 and 176 rows (3, 2 and 1 % slower); both warpgroups at one tile of up
// to 256 rows, the results held in registers (7 % faster at 192 tokens and K = 7168, 0 to 8 %
// slower else); bands of 2, 3, 6 and 8 tiles (the same).
#include "grouped_turns.cuh"

using shape = tiled<bf16, tiling{.tile_m = 128, .tile_n = 192, .pingpong = true, .swapped = true}>;
constexpr int stages = 5, band = 4;
static_assert(grouped_bytes<shape, tile_ring>(stages, groups_most) <= shape::smem_limit);

static int launch(const plumb_form_args *args, void *stream)
{
    return launch_grouped<shape>(args, stream, stages, band);
}

static const plumb_form_kernel kernel = {
    .kernel = {.name = "bf16-grouped",
               .summary = "all groups in one launch, tiles as high as a group's rows",
               .traits = persistent_traits<shape>(stages, PLUMB_RASTER_N, band)},
    .supports = supports_groups<shape>,
    .workspace = grouped_workspace,
    .launch = launch,
};
PLUMB_FORM_LIBRARY("cuda", kernel)
