// SPDX-License-Identifier: Apache-2.0
//
// The configuration space in BF16, the large tiles (space.cuh, space_rows.cuh).
#include "space.cuh"
#include "space_rows.cuh"

#define R(...) ROW(bf16, __VA_ARGS__),
static constexpr plumb_kernel rows[] = {PLUMB_SPACE_LARGE(R)};
PLUMB_TABLE(rows)
