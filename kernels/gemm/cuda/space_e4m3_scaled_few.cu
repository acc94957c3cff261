// SPDX-License-Identifier: Apache-2.0
//
// The configuration space in E4M3 with block scales, for few tiles: split-K (scaled.cuh).
#include "scaled.cuh"

#define S(...) SCALED_SPLIT_ROW(e4m3, __VA_ARGS__)
static constexpr plumb_form_kernel rows[] = {
    S(64, 32, 1, 1, 2, 7, m, 8),  S(64, 64, 1, 1, 2, 10, m, 8), S(64, 64, 1, 1, 2, 5, m, 8),
    S(64, 64, 1, 1, 4, 5, m, 8),  S(64, 64, 1, 1, 8, 8, m, 8),  S(64, 96, 1, 1, 2, 8, m, 8),
    S(64, 112, 1, 1, 2, 7, m, 8), S(64, 128, 1, 1, 2, 6, m, 8), S(64, 128, 1, 1, 4, 5, m, 8),
    S(128, 64, 2, 1, 2, 6, m, 8), S(128, 64, 2, 1, 4, 6, m, 8), S(128, 96, 2, 1, 2, 5, m, 8),
    S(64, 32, 1, 1, 8, 12, m, 8), S(64, 64, 1, 1, 16, 5, m, 8), S(64, 48, 1, 1, 2, 10, m, 8),
    S(64, 32, 1, 1, 4, 12, m, 8), S(64, 64, 1, 1, 4, 8, m, 8),  S(128, 128, 2, 1, 4, 3, m, 8),
    S(128, 64, 2, 1, 8, 5, m, 8), S(64, 96, 1, 1, 4, 7, m, 8),  S(64, 48, 1, 1, 4, 8, m, 8)};
PLUMB_FORM_TABLE(rows)
