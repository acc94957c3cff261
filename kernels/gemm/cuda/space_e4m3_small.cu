// SPDX-License-Identifier: Apache-2.0
//
// The configuration space in E4M3, the small tiles and split-K (space.cuh, space_rows.cuh).
#include "space.cuh"
#include "space_rows.cuh"

#define R(...) ROW(e4m3, __VA_ARGS__),
#define S(...) SPLIT_ROW(e4m3, __VA_ARGS__),
static constexpr plumb_kernel rows[] = {PLUMB_SPACE_SMALL(R) PLUMB_SPACE_SPLIT(S)
                                            PLUMB_SPACE_PROMOTED(R)};
PLUMB_TABLE(rows)
