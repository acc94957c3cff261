// SPDX-License-Identifier: Apache-2.0
//
// Configurations of dual GEMMs in FP8 (E4M3) with fast accumulation. 128x96 spills here,
// for the scales, unless results are held (rows.cuh). Costs are SM cycles
// (cost.h); zeros: there is no selector.
//
// clang-format off
//   configuration                                   slab  tile  elements  launch

// large tiles
ROW("128x128-w2x1-c1x1-s4-e2-m8-coop-dual",          0,     0,        0,      0)
ROW("128x128-w2x1-c2x1-s4-e2-m8-coop-dual",          0,     0,        0,      0)
ROW("128x96-w2x1-c1x1-s4-e2-m8-held-dual",           0,     0,        0,      0)

// small tiles, and ping-pong, whose epilogue another tile's main loop hides
ROW("128x80-w1x1-c1x1-s5-e2-m8-pingpong-dual",       0,     0,        0,      0)
ROW("128x64-w2x1-c1x1-s6-e2-m8-coop-dual",           0,     0,        0,      0)
ROW("64x96-w1x1-c1x1-s6-e2-m8-coop-dual",            0,     0,        0,      0)
ROW("128x64-w2x1-c1x1-s6-e2-m8-held-dual",           0,     0,        0,      0)
ROW("64x64-w1x1-c1x1-s4-e2-m8-twin-dual",            0,     0,        0,      0)

// few tiles: K divided, one tile per block, m = 1
ROW("128x128-w2x1-k2-s4-e2-m8-split-dual",           0,     0,        0,      0)
ROW("128x96-w2x1-k2-s5-e1-m8-split-dual",            0,     0,        0,      0)
ROW("64x64-w1x1-k2-s8-e2-m8-split-dual",             0,     0,        0,      0)
ROW("gemv-dual",                                     0,     0,        0,      0)

// operands swapped, for small m
ROW("16x64-w1x1-c1x1-s5-n8-twin-swapped-dual",       0,     0,        0,      0)
ROW("64x64-w1x1-c1x1-s4-n8-twin-swapped-dual",       0,     0,        0,      0)
ROW("16x64-w1x1-k4-s9-n8-swapped-split-dual",        0,     0,        0,      0)
ROW("64x64-w1x1-k4-s8-n8-swapped-split-dual",        0,     0,        0,      0)
