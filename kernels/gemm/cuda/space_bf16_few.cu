// SPDX-License-Identifier: Apache-2.0
//
// The configuration space in BF16 for few tiles: narrow split-K, stream-K, K
// spread, one tile per block and m = 1
// (space.cuh, space_rows_few.cuh).
#include "space.cuh"
#include "space_rows_few.cuh"

#define S(...) SPLIT_ROW(bf16, __VA_ARGS__),
#define K(...) STREAM_ROW(bf16, __VA_ARGS__),
#define P(...) SPREAD_ROW(bf16, __VA_ARGS__),
#define B(...) BRIEF_ROW(bf16, __VA_ARGS__),
static constexpr plumb_kernel rows[] = {PLUMB_SPACE_SPLIT_NARROW(S) PLUMB_SPACE_SPLIT_FAR(
    S) PLUMB_SPACE_STREAM(K) PLUMB_SPACE_SPREAD(P) PLUMB_SPACE_BRIEF(B) GEMV_ROW(bf16)};
PLUMB_TABLE(rows)
