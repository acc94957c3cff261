// SPDX-License-Identifier: Apache-2.0
//
// The configuration space in TF32 with swapped operands, for small m (space.cuh,
// space_rows_swapped.cuh).
#include "space.cuh"
#include "space_rows_swapped.cuh"

#define W(...) SWAPPED_ROW(tf32, __VA_ARGS__),
#define X(...) SWAPPED_SPLIT_ROW(tf32, __VA_ARGS__),
static constexpr plumb_kernel rows[] = {PLUMB_SPACE_SWAPPED(W) PLUMB_SPACE_SWAPPED_SPLIT(X)};
PLUMB_TABLE(rows)
