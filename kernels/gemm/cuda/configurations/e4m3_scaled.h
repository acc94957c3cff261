// SPDX-License-Identifier: Apache-2.0
//
// Configurations of FP8 (E4M3) with block scales (rows.cuh). Costs are SM cycles
// (cost.h), fitted to the times recorded in baselines/recorded/h200/ladder; zeros: no selector
// chooses the row.
//
// clang-format off
//   configuration                                   slab  tile  elements  launch

// Large tiles.
ROW("128x192-w2x1-c1x1-s5-e1-m8-scaled",           909,  1935,     2000,  11695)
ROW("128x144-w2x1-c1x1-s5-e2-m8-scaled",           742,  1689,     2000,  11317)
ROW("256x128-w2x1-c1x1-s4-e1-m8-scaled",          1190,  2829,     2000,  10850)
ROW("256x128-w2x1-c1x2-s4-e1-m8-scaled",          1207,  2675,     2000,  12429)
ROW("128x192-w2x1-c1x1-s4-e2-m8-scaled",           909,  1538,     2000,  12085)
ROW("256x128-w2x1-c1x2-s4-e1-m16-scaled",         1201,  2687,     2000,  12546)

// Small tiles, and ping-pong, where one tile is stored while another is multiplied.
ROW("128x128-w2x1-c1x1-s6-e1-m8-scaled",           629,  1167,     2000,  11531)
ROW("128x128-w2x1-c1x1-s5-e2-m8-scaled",           629,   945,     2000,  11805)
ROW("128x96-w2x1-c1x1-s6-e2-m8-scaled",            569,   932,     2000,  11212)
ROW("128x112-w2x1-c1x1-s6-e2-m8-scaled",           616,  1118,     2000,  11640)
ROW("64x128-w1x1-c1x1-s8-e2-m8-scaled",            427,  1042,     2000,  10698)
ROW("64x64-w1x1-c1x1-s10-e2-m8-scaled",            346,   551,     2000,  10648)
ROW("64x192-w1x1-c1x1-s6-e2-m8-scaled",              0,     0,        0,      0)
ROW("64x96-w1x1-c1x1-s9-e2-m8-scaled",             388,   963,     2000,  10598)
ROW("64x112-w1x1-c1x1-s8-e2-m8-scaled",            436,  1038,     2000,  10698)
ROW("128x128-w2x1-c1x1-s5-e2-n8-scaled",           632,   914,     2000,  11805)
ROW("64x64-w1x1-c1x1-s5-e2-m8-twin_scaled",        283,   628,     2000,  10799)
ROW("64x64-w1x1-c1x1-s6-e1-m8-twin_scaled",          0,     0,        0,      0)
ROW("64x48-w1x1-c1x1-s5-e2-m8-twin_scaled",        269,   765,     2000,   9972)

// Few tiles: K is divided, or one tile per block, or m = 1.
ROW("64x32-w1x1-k2-s7-m8-scaled-split",              0,     0,        0,      0)
ROW("64x64-w1x1-k2-s10-m8-scaled-split",           341,  5377,     2000,   6663)
ROW("64x64-w1x1-k2-s5-m8-scaled-split",              0,     0,        0,      0)
ROW("64x64-w1x1-k8-s8-m8-scaled-split",            346,  5689,     2000,   7353)
ROW("64x96-w1x1-k2-s8-m8-scaled-split",            440,  5742,     2000,   6182)
ROW("64x112-w1x1-k2-s7-m8-scaled-split",             0,     0,        0,      0)
ROW("64x128-w1x1-k2-s6-m8-scaled-split",           460,  5715,     2000,   7318)
ROW("128x64-w2x1-k2-s6-m8-scaled-split",           500,  6132,     2000,   6726)
ROW("128x64-w2x1-k4-s6-m8-scaled-split",           500,  6766,     2000,   6448)
ROW("64x48-w1x1-k2-s10-m8-scaled-split",           328,  5107,     2000,   6570)
ROW("64x32-w1x1-k4-s12-m8-scaled-split",           287,  5403,     2000,   6448)
ROW("64x64-w1x1-k4-s8-m8-scaled-split",            335,  5715,     2000,   6182)
ROW("64x96-w1x1-k4-s7-m8-scaled-split",            420,  6517,     2000,   6448)
ROW("64x48-w1x1-k4-s8-m8-scaled-split",            304,  5403,     2000,   6601)
