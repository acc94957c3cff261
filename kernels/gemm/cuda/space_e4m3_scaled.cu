// SPDX-License-Identifier: Apache-2.0
//
// The configuration space in E4M3 with block scales (scaled.cuh): persistent tiles.
#include "scaled.cuh"

#define R(...) SCALED_ROW(e4m3, __VA_ARGS__)
static constexpr plumb_form_kernel rows[] = {
    R(128, 128, 2, 1, 1, 1, 6, 1, m, 8, scaled),    R(128, 128, 2, 1, 1, 1, 5, 2, m, 8, scaled),
    R(128, 176, 2, 1, 1, 1, 5, 2, m, 16, scaled),   R(128, 192, 2, 1, 1, 1, 5, 1, m, 8, scaled),
    R(128, 128, 2, 1, 2, 1, 6, 1, m, 8, scaled),    R(128, 128, 2, 1, 1, 2, 6, 1, m, 8, scaled),
    R(128, 64, 2, 1, 1, 1, 7, 2, m, 8, scaled),     R(128, 96, 2, 1, 1, 1, 6, 2, m, 8, scaled),
    R(128, 112, 2, 1, 1, 1, 6, 2, m, 8, scaled),    R(128, 144, 2, 1, 1, 1, 5, 2, m, 8, scaled),
    R(128, 160, 2, 1, 1, 1, 5, 2, m, 8, scaled),    R(128, 160, 2, 1, 2, 1, 5, 2, m, 8, scaled),
    R(128, 176, 2, 1, 1, 1, 5, 2, m, 8, scaled),    R(256, 128, 2, 1, 1, 1, 4, 1, m, 8, scaled),
    R(256, 128, 2, 1, 1, 2, 4, 1, m, 8, scaled),    R(64, 128, 1, 1, 1, 1, 8, 2, m, 8, scaled),
    R(64, 64, 1, 1, 1, 1, 10, 2, m, 8, scaled),     R(128, 192, 2, 1, 1, 1, 4, 2, m, 8, scaled),
    R(128, 176, 2, 1, 2, 1, 5, 2, m, 8, scaled),    R(64, 192, 1, 1, 1, 1, 6, 2, m, 8, scaled),
    R(64, 96, 1, 1, 1, 1, 9, 2, m, 8, scaled),      R(64, 112, 1, 1, 1, 1, 8, 2, m, 8, scaled),
    R(128, 128, 2, 1, 1, 1, 5, 2, n, 8, scaled),    R(256, 128, 2, 1, 1, 2, 4, 1, m, 16, scaled),
    R(64, 64, 1, 1, 1, 1, 5, 2, m, 8, twin_scaled), R(64, 64, 1, 1, 1, 1, 6, 1, m, 8, twin_scaled),
    R(64, 48, 1, 1, 1, 1, 5, 2, m, 8, twin_scaled)};
PLUMB_FORM_TABLE(rows)
