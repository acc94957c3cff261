// SPDX-License-Identifier: Apache-2.0
//
// The configuration space of the dual GEMM in FP8 with fast accumulation (dual.cuh). 128x96 spills
// here, for the scales, unless results are held.
#include "dual.cuh"

static constexpr plumb_kernel rows[] = {
    DUAL_ROW(e4m3, 128, 128, 2, 1, 1, 1, 4, 2, m, 8, coop),
    DUAL_ROW(e4m3, 128, 128, 2, 1, 2, 1, 4, 2, m, 8, coop),
    DUAL_ROW(e4m3, 128, 80, 1, 1, 1, 1, 5, 2, m, 8, pingpong),
    DUAL_ROW(e4m3, 128, 64, 2, 1, 1, 1, 6, 2, m, 8, coop),
    DUAL_ROW(e4m3, 64, 96, 1, 1, 1, 1, 6, 2, m, 8, coop),
    DUAL_ROW(e4m3, 128, 96, 2, 1, 1, 1, 4, 2, m, 8, held),
    DUAL_ROW(e4m3, 128, 64, 2, 1, 1, 1, 6, 2, m, 8, held),
    DUAL_ROW(e4m3, 64, 64, 1, 1, 1, 1, 4, 2, m, 8, twin),
    DUAL_SPLIT_ROW(e4m3, 128, 128, 2, 1, 2, 4, 2, m, 8),
    DUAL_SPLIT_ROW(e4m3, 128, 96, 2, 1, 2, 5, 1, m, 8),
    DUAL_SPLIT_ROW(e4m3, 64, 64, 1, 1, 2, 8, 2, m, 8),
    DUAL_SWAPPED_ROW(e4m3, 16, 64, 1, 1, 1, 1, 5, n, 8, twin),
    DUAL_SWAPPED_ROW(e4m3, 64, 64, 1, 1, 1, 1, 4, n, 8, twin),
    DUAL_SWAPPED_SPLIT_ROW(e4m3, 16, 64, 1, 1, 4, 9, n, 8),
    DUAL_SWAPPED_SPLIT_ROW(e4m3, 64, 64, 1, 1, 4, 8, n, 8),
    DUAL_GEMV_ROW(e4m3),
};
PLUMB_TABLE(rows)
