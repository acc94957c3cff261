// SPDX-License-Identifier: Apache-2.0
//
// Names of the configuration space's rows (kernels/gemm/cuda/space.cuh), read back: a name says all
// of a row.
#ifndef PLUMB_SWEEP_ROWS_H
#define PLUMB_SWEEP_ROWS_H

#include <stddef.h>

#include "../kernel.h"

struct sweep_row {
    char name[64];
    char kind[16];              // bf16, fp16, tf32, e4m3, e4m3-promoted, bf16-dual or e4m3-dual
    struct plumb_traits traits; // what the cost model reads of them
    int warps_m, warps_n, pieces;
    char raster;    // m, n or h
    char mode[16];  // coop, pingpong, twin, wide, promote, promote_twin; "" of a split or m = 1
    int swapped;    // operands
    int brief;      // one tile per block (brief.cuh)
    int dual;       // two products (dual.cuh); its tile is C's
    char macro[40]; // ROW, SPLIT_ROW, SPLIT_PROMOTED_ROW, STREAM_ROW, SPREAD_ROW, BRIEF_ROW,
                    // GEMV_ROW or GEMV_PROMOTED_ROW, after SWAPPED_, after DUAL_
};

// 1 if `name` is a row of the space, else 0.
int sweep_row_parse(struct sweep_row *row, const char *name);

// The row as the macro that makes it, without a terminator's cut: text of up to size - 1
// characters.
void sweep_row_print(char *text, size_t size, const struct sweep_row *row);

#endif
