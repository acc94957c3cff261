// SPDX-License-Identifier: Apache-2.0
//
// The configuration space of the dual GEMM in BF16, few tiles: K divided, operands swapped, m = 1.
#include "dual.cuh"

static constexpr plumb_kernel rows[] = {
    DUAL_SPLIT_ROW(bf16, 128, 128, 2, 1, 2, 4, 2, m, 8),
    DUAL_SPLIT_ROW(bf16, 128, 128, 2, 1, 2, 4, 1, m, 8),
    DUAL_SPLIT_ROW(bf16, 128, 96, 2, 1, 2, 5, 1, m, 8),
    DUAL_SPLIT_ROW(bf16, 128, 96, 2, 1, 2, 4, 2, m, 8),
    DUAL_SPLIT_ROW(bf16, 128, 64, 2, 1, 2, 6, 2, m, 8),
    DUAL_SPLIT_ROW(bf16, 128, 64, 2, 1, 4, 6, 2, m, 8),
    DUAL_SPLIT_ROW(bf16, 64, 64, 1, 1, 2, 8, 2, m, 8),
    DUAL_SPLIT_ROW(bf16, 64, 64, 1, 1, 4, 8, 2, m, 8),
    DUAL_STREAM_ROW(bf16, 128, 128, 2, 1, 1, 1, 4, 2, m, 8, coop),
    DUAL_STREAM_ROW(bf16, 128, 96, 2, 1, 1, 1, 5, 1, m, 8, coop),
    DUAL_SPLIT_ROW(bf16, 128, 80, 2, 1, 2, 5, 2, m, 8),
    DUAL_SPLIT_ROW(bf16, 128, 112, 2, 1, 2, 4, 2, m, 8),
    DUAL_STREAM_ROW(bf16, 64, 64, 1, 1, 1, 1, 8, 2, m, 8, coop),
    DUAL_SWAPPED_ROW(bf16, 16, 64, 1, 1, 1, 1, 9, n, 8, coop),
    DUAL_SWAPPED_ROW(bf16, 16, 64, 1, 1, 1, 1, 5, n, 8, twin),
    DUAL_SWAPPED_ROW(bf16, 32, 64, 1, 1, 1, 1, 5, n, 8, twin),
    DUAL_SWAPPED_ROW(bf16, 64, 64, 1, 1, 1, 1, 8, n, 8, coop),
    DUAL_SWAPPED_ROW(bf16, 64, 64, 1, 1, 1, 1, 4, n, 8, twin),
    DUAL_SWAPPED_ROW(bf16, 128, 64, 1, 1, 1, 1, 6, n, 8, coop),
    DUAL_SWAPPED_ROW(bf16, 64, 128, 1, 2, 1, 1, 4, n, 8, coop),
    DUAL_SWAPPED_ROW(bf16, 16, 128, 1, 2, 1, 1, 5, n, 8, coop),
    DUAL_SWAPPED_ROW(bf16, 16, 192, 1, 3, 1, 1, 4, n, 8, coop),
    DUAL_SWAPPED_STREAM_ROW(bf16, 16, 64, 1, 1, 1, 1, 5, n, 8, twin),
    DUAL_SWAPPED_STREAM_ROW(bf16, 64, 64, 1, 1, 1, 1, 4, n, 8, twin),
    DUAL_SWAPPED_SPLIT_ROW(bf16, 16, 64, 1, 1, 2, 9, n, 8),
    DUAL_SWAPPED_SPLIT_ROW(bf16, 16, 64, 1, 1, 4, 9, n, 8),
    DUAL_SWAPPED_SPLIT_ROW(bf16, 32, 64, 1, 1, 2, 9, n, 8),
    DUAL_SWAPPED_SPLIT_ROW(bf16, 32, 64, 1, 1, 4, 9, n, 8),
    DUAL_SWAPPED_SPLIT_ROW(bf16, 64, 64, 1, 1, 2, 8, n, 8),
    DUAL_SWAPPED_SPLIT_ROW(bf16, 64, 64, 1, 1, 4, 8, n, 8),
    DUAL_GEMV_ROW(bf16),
};
PLUMB_TABLE(rows)
