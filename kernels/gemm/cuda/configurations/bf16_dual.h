// SPDX-License-Identifier: Apache-2.0
//
// Configurations of dual GEMMs in BF16 (rows.cuh). A tile is counted in C: 128x128 multiplies 128
// rows of A by 128 rows of B1 and 128 of B2. Costs are SM cycles (cost.h), fitted to the times
// recorded in baselines/recorded/h200/ladder; zeros: no selector chooses the row.
//
// clang-format off
//   configuration                                   slab  tile  elements  launch

// Large tiles.
ROW("128x128-w2x1-c1x1-s4-e2-m8-coop-dual",       1006,  5253,     9176,   9471)
ROW("128x128-w2x1-c1x1-s4-e2-m16-coop-dual",      1006,  5352,     9616,   9208)
ROW("128x128-w2x1-c2x1-s4-e2-m8-coop-dual",       1006,  4716,    17522,  14306)
ROW("256x64-w2x1-c1x1-s4-e2-m8-coop-dual",        1010,  5796,     6749,   8228)
ROW("256x64-w2x1-c1x2-s4-e2-m8-coop-dual",        1006,  5609,     6440,  12844)
ROW("128x112-w2x1-c1x1-s4-e2-m8-coop-dual",        888,  3527,     8473,  10401)
ROW("128x112-w2x1-c2x1-s4-e2-m8-coop-dual",          0,     0,        0,      0)
ROW("128x96-w2x1-c1x1-s5-e1-m8-coop-dual",         758,  5228,     5060,   8423)
ROW("128x96-w2x1-c1x1-s5-e1-m16-coop-dual",        754,  5253,     7191,   8463)
ROW("128x96-w2x1-c2x1-s5-e1-m8-coop-dual",         754,  3965,    10711,  13524)
ROW("128x96-w2x1-c1x2-s5-e1-m8-coop-dual",         768,  4059,     5327,  13587)

// Small tiles, and ping-pong, where one tile is stored while another is multiplied.
ROW("128x80-w1x1-c1x1-s5-e2-m8-pingpong-dual",     646,     1,     8433,  13715)
ROW("128x80-w1x1-c1x1-s5-e2-m16-pingpong-dual",    646,     1,    10711,  13715)
ROW("128x80-w1x1-c2x1-s5-e2-m8-pingpong-dual",       0,     0,        0,      0)
ROW("128x64-w2x1-c1x1-s6-e2-m8-coop-dual",         503,  2700,     2803,  10019)
ROW("128x64-w1x1-c1x1-s6-e2-m8-pingpong-dual",     517,     1,     6456,  13460)
ROW("64x128-w1x1-c1x1-s5-e2-m8-coop-dual",         522,   981,     4097,  11805)
ROW("64x96-w1x1-c1x1-s6-e2-m8-coop-dual",          397,  1009,     4155,  11212)
ROW("64x80-w1x1-c1x1-s7-e2-m8-coop-dual",          329,  1052,     1981,  11107)
ROW("64x64-w1x1-c1x1-s8-e2-m8-coop-dual",          283,   817,     1269,  10799)
ROW("64x64-w1x1-c1x1-s4-e2-m8-wide-dual",          607,   995,      798,  10304)
ROW("64x48-w1x1-c1x1-s10-e2-m8-coop-dual",         257,   730,     1072,  10208)
ROW("64x48-w1x1-c1x1-s5-e2-m8-wide-dual",            0,     0,        0,      0)
ROW("64x32-w1x1-c1x1-s6-e2-m8-wide-dual",          474,   375,      162,   9560)
ROW("128x64-w2x1-c2x1-s6-e2-m8-coop-dual",         505,  2505,     7024,  13715)
ROW("64x64-w1x1-c1x1-s4-e2-m8-twin-dual",          302,   131,       86,  11003)
ROW("64x48-w1x1-c1x1-s4-e2-m8-twin-dual",          289,     3,       41,  10648)
ROW("64x32-w1x1-c1x1-s6-e2-m8-twin-dual",          233,   442,      134,   9426)

// Few tiles: K is divided, or one tile per block, or m = 1.
ROW("128x64-w2x1-k4-s6-e2-m8-split-dual",          621,  9176,     8047,   7250)
ROW("64x64-w1x1-k4-s8-e2-m8-split-dual",             0,     0,        0,      0)
ROW("gemv-dual",                                  3129,  1072,     3560,   7250)

// Swapped operands, for small m.
ROW("16x64-w1x1-c1x1-s9-n8-coop-swapped-dual",     279,  1062,        1,   9515)
ROW("16x64-w1x1-c1x1-s5-n8-twin-swapped-dual",     301,   936,      137,   8543)
ROW("32x64-w1x1-c1x1-s5-n8-twin-swapped-dual",       0,     0,        0,      0)
ROW("64x64-w1x1-c1x1-s8-n8-coop-swapped-dual",     387,   940,        1,   9165)
ROW("64x64-w1x1-c1x1-s4-n8-twin-swapped-dual",     407,   754,        1,   8704)
ROW("128x64-w1x1-c1x1-s6-n8-coop-swapped-dual",    524,  1830,      893,  10850)
ROW("16x192-w1x3-c1x1-s4-n8-coop-swapped-dual",    777,  3166,        1,   7082)
ROW("16x64-w1x1-c1x1-s5-n8-wide-swapped-dual",     556,  1891,        1,   8075)
ROW("32x64-w1x1-c1x1-s5-n8-wide-swapped-dual",     642,  1524,        1,   8306)
ROW("16x64-w1x1-k4-s9-n8-swapped-split-dual",      377,  6103,     1113,   6448)
ROW("64x64-w1x1-k4-s8-n8-swapped-split-dual",      471,  7898,     3429,   6479)
