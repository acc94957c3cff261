// SPDX-License-Identifier: Apache-2.0
//
// The configuration space in TF32, the small tiles and split-K (space.cuh, space_rows.cuh).
#include "space.cuh"
#include "space_rows.cuh"

#define R(...) ROW(tf32, __VA_ARGS__),
#define S(...) SPLIT_ROW(tf32, __VA_ARGS__),
static constexpr plumb_kernel rows[] = {PLUMB_SPACE_SMALL(R) PLUMB_SPACE_SPLIT(S)};
PLUMB_TABLE(rows)
