// SPDX-License-Identifier: Apache-2.0
//
// The configuration space in E4M3 with swapped operands and sums promoted, for small m (space.cuh,
// space_rows_swapped.cuh).
#include "space.cuh"
#include "space_rows_swapped.cuh"

#define W(...) SWAPPED_ROW(e4m3, __VA_ARGS__),
#define X(...) SWAPPED_SPLIT_PROMOTED_ROW(e4m3, __VA_ARGS__),
static constexpr plumb_kernel rows[] = {PLUMB_SPACE_SWAPPED_PROMOTED(W)
                                            PLUMB_SPACE_SWAPPED_SPLIT_PROMOTED(X)};
PLUMB_TABLE(rows)
