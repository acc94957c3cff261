// SPDX-License-Identifier: Apache-2.0
// module: space_bf16_large -DTYPE=bf16 -DTABLE=bf16 -DSECTIONS=large
// module: space_bf16_small -DTYPE=bf16 -DTABLE=bf16 -DSECTIONS=small
// module: space_bf16_few -DTYPE=bf16 -DTABLE=bf16 -DSECTIONS=few
// module: space_bf16_swapped -DTYPE=bf16 -DTABLE=bf16 -DSECTIONS=swapped
// module: space_tf32_large -DTYPE=tf32 -DTABLE=tf32 -DSECTIONS=large
// module: space_tf32_small -DTYPE=tf32 -DTABLE=tf32 -DSECTIONS=small
// module: space_tf32_few -DTYPE=tf32 -DTABLE=tf32 -DSECTIONS=few
// module: space_tf32_swapped -DTYPE=tf32 -DTABLE=tf32 -DSECTIONS=swapped
// module: space_e4m3_large -DTYPE=e4m3 -DTABLE=e4m3 -DSECTIONS=large
// module: space_e4m3_small -DTYPE=e4m3 -DTABLE=e4m3 -DSECTIONS=small
// module: space_e4m3_few -DTYPE=e4m3 -DTABLE=e4m3 -DSECTIONS=few
// module: space_e4m3_swapped -DTYPE=e4m3 -DTABLE=e4m3 -DSECTIONS=swapped
// module: space_e4m3_promoted -DTYPE=e4m3 -DTABLE=e4m3_promoted -DSECTIONS=large+small
// module: space_e4m3_promoted_few -DTYPE=e4m3 -DTABLE=e4m3_promoted -DSECTIONS=few+swapped
// module: space_e4m3_scaled -DTYPE=e4m3 -DTABLE=e4m3_scaled -DSECTIONS=large+small
// module: space_e4m3_scaled_few -DTYPE=e4m3 -DTABLE=e4m3_scaled -DSECTIONS=few
// module: space_bf16_dual -DTYPE=bf16 -DTABLE=bf16_dual -DSECTIONS=large+small
// module: space_bf16_dual_few -DTYPE=bf16 -DTABLE=bf16_dual -DSECTIONS=few+swapped
//
// The configuration space: all rows of a table, or a section of them. These modules of many kernels
// are for sweeps, not for gates, because code that does not run still changes a kernel's time by up
// to 0.4 %.
#include "rows.cuh"

static constexpr auto rows = rows_that<row_type>(
    [](auto i) { return (section_of(row_at<i>::is) & (SECTIONS)) != 0; },
    [](auto i) { return make_row<i>(); }, std::make_index_sequence<row_count>());

PLUMB_EXPORT const struct plumb_library *plumb_library(void)
{
    constexpr bool forms = std::is_same_v<row_type, plumb_form_kernel>;
    static const struct plumb_library library = {
        forms ? PLUMB_ABI_FORMS : PLUMB_ABI_VERSION, (uint32_t)sizeof(row_type), "cuda",
        (uint32_t)rows.size(), reinterpret_cast<const plumb_kernel *>(rows.data())};
    return &library;
}
