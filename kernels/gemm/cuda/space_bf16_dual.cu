// SPDX-License-Identifier: Apache-2.0
//
// The configuration space of the dual GEMM in BF16 (dual.cuh). Tiles are of C: 128x128 multiplies
// 128 rows of A by 128 of B1 and as many of B2.
#include "dual.cuh"

static constexpr plumb_kernel rows[] = {
    DUAL_ROW(bf16, 128, 128, 2, 1, 1, 1, 4, 2, m, 8, coop),
    DUAL_ROW(bf16, 128, 128, 2, 1, 1, 1, 4, 2, m, 16, coop),
    DUAL_ROW(bf16, 128, 128, 2, 1, 2, 1, 4, 2, m, 8, coop),
    DUAL_ROW(bf16, 128, 128, 2, 1, 1, 2, 4, 2, m, 8, coop),
    DUAL_ROW(bf16, 256, 64, 2, 1, 1, 1, 4, 2, m, 8, coop),
    DUAL_ROW(bf16, 256, 64, 2, 1, 2, 1, 4, 2, m, 8, coop),
    DUAL_ROW(bf16, 256, 64, 2, 1, 1, 2, 4, 2, m, 8, coop),
    DUAL_ROW(bf16, 128, 112, 2, 1, 1, 1, 4, 2, m, 8, coop),
    DUAL_ROW(bf16, 128, 112, 2, 1, 2, 1, 4, 2, m, 8, coop),
    DUAL_ROW(bf16, 128, 96, 2, 1, 1, 1, 5, 1, m, 8, coop),
    DUAL_ROW(bf16, 128, 96, 2, 1, 1, 1, 5, 1, m, 16, coop),
    DUAL_ROW(bf16, 128, 96, 2, 1, 2, 1, 5, 1, m, 8, coop),
    DUAL_ROW(bf16, 128, 96, 2, 1, 1, 2, 5, 1, m, 8, coop),
    DUAL_ROW(bf16, 128, 80, 1, 1, 1, 1, 5, 2, m, 8, pingpong),
    DUAL_ROW(bf16, 128, 80, 1, 1, 1, 1, 5, 2, m, 16, pingpong),
    DUAL_ROW(bf16, 128, 80, 1, 1, 2, 1, 5, 2, m, 8, pingpong),
    DUAL_ROW(bf16, 128, 80, 1, 1, 1, 2, 5, 2, m, 8, pingpong),
    DUAL_ROW(bf16, 128, 64, 2, 1, 1, 1, 6, 2, m, 8, coop),
    DUAL_ROW(bf16, 128, 64, 1, 1, 1, 1, 6, 2, m, 8, pingpong),
    DUAL_ROW(bf16, 128, 48, 2, 1, 1, 1, 6, 2, m, 8, coop),
    DUAL_ROW(bf16, 64, 128, 1, 1, 1, 1, 5, 2, m, 8, coop),
    DUAL_ROW(bf16, 64, 128, 1, 1, 2, 1, 5, 2, m, 8, coop),
    DUAL_ROW(bf16, 64, 96, 1, 1, 1, 1, 6, 2, m, 8, coop),
    DUAL_ROW(bf16, 64, 96, 1, 1, 2, 1, 6, 2, m, 8, coop),
    DUAL_ROW(bf16, 64, 80, 1, 1, 1, 1, 7, 2, m, 8, coop),
    DUAL_ROW(bf16, 64, 64, 1, 1, 1, 1, 8, 2, m, 8, coop),
    DUAL_ROW(bf16, 64, 64, 1, 1, 1, 1, 4, 2, m, 8, wide),
    DUAL_ROW(bf16, 64, 48, 1, 1, 1, 1, 10, 2, m, 8, coop),
    DUAL_ROW(bf16, 64, 48, 1, 1, 1, 1, 5, 2, m, 8, wide),
    DUAL_ROW(bf16, 64, 32, 1, 1, 1, 1, 6, 2, m, 8, wide),
    DUAL_ROW(bf16, 128, 64, 2, 1, 1, 1, 3, 2, m, 8, wide),
    DUAL_ROW(bf16, 128, 64, 2, 1, 2, 1, 6, 2, m, 8, coop),
    DUAL_ROW(bf16, 64, 64, 1, 1, 1, 1, 4, 2, m, 8, twin),
    DUAL_ROW(bf16, 64, 48, 1, 1, 1, 1, 4, 2, m, 8, twin),
    DUAL_ROW(bf16, 64, 32, 1, 1, 1, 1, 6, 2, m, 8, twin),
};
PLUMB_TABLE(rows)
