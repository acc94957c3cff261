// SPDX-License-Identifier: Apache-2.0
//
// Configurations of FP8 (E4M3) with sums promoted every 128 of K (rows.cuh). Costs are SM cycles
// (cost.h), fitted to the times recorded in baselines/recorded/h200/ladder. TRY: a trial may take
// the row, the model alone may not.
//
// clang-format off
//   configuration                                   slab  tile  elements  launch

// Large tiles.
ROW("128x144-w2x1-c1x1-s5-e2-m8-promote",          601,  1368,    15954,  10401)
ROW("128x160-w2x1-c1x1-s5-e2-m8-promote",          761,  1510,    17277,  10450)
ROW("128x176-w2x1-c1x1-s5-e2-m8-promote",          818,  1447,    18711,  10648)
TRY("128x176-w2x1-c2x2-s5-e2-m8-promote",           818,  1900,    18711,  12900)
ROW("128x160-w2x1-c2x1-s5-e2-m8-promote",          751,  1407,    18107,  12371)
ROW("256x128-w2x1-c1x1-s4-e2-m8-promote",         1088,  2166,    28934,  10549)
ROW("256x128-w2x1-c1x2-s4-e2-m8-promote",         1119,  2156,    29759,  11972)

// Small tiles, and ping-pong, where one tile is stored while another is multiplied.
ROW("128x128-w2x1-c1x1-s6-e2-m8-promote",          542,   677,    14323,  10748)
ROW("128x128-w2x1-c2x1-s6-e2-m8-promote",          534,   761,    15081,  12429)
ROW("128x128-w2x1-c1x2-s6-e2-m8-promote",          542,   761,    14801,  12085)
ROW("128x112-w2x1-c1x1-s6-e2-m8-promote",          478,   798,    12271,  10598)
ROW("128x96-w2x1-c1x1-s6-e2-m8-promote",           424,   809,    10561,  10304)
ROW("64x128-w1x1-c1x1-s8-e2-m8-promote",           383,   690,     6703,  10401)
ROW("64x64-w1x1-c1x1-s10-e2-m8-promote",           295,   477,     2951,  10160)
TRY("128x64-w2x1-c1x1-s8-e2-m8-promote",            352,   597,     6862,  10019)

// Few tiles: K is divided, or one tile per block, or m = 1.
ROW("64x32-w1x1-k2-s7-m8-promote-split",           358,  5253,      769,   5198)
TRY("64x64-w1x1-k2-s10-m8-promote-split",           333,  4521,     1407,   7387)
TRY("64x64-w1x1-k2-s5-m8-promote-split",            508,  5609,     1779,   5101)
ROW("64x64-w1x1-k4-s5-m8-promote-split",           520,  5990,      761,   5149)
ROW("64x96-w1x1-k2-s8-m8-promote-split",           379,  4919,     2009,   7422)
ROW("64x112-w1x1-k2-s7-m8-promote-split",          412,  4919,     2302,   7562)
TRY("64x128-w1x1-k2-s7-m8-promote-split",           443,  4919,     2790,   7888)
ROW("64x128-w1x1-k4-s6-m8-promote-split",          475,  5851,     1330,   7353)
ROW("128x64-w2x1-k2-s6-m8-promote-split",          437,  5352,     2751,   6758)
ROW("128x96-w2x1-k2-s5-m8-promote-split",          518,  5990,     4396,   7353)
ROW("128x112-w2x1-c2x1-s6-e2-m8-promote-stream",   640,  1531,     6992,  14993)
TRY("64x64-w1x1-k8-s10-m8-promote-split",           330,  5600,      410,   7400)
ROW("gemv-promote",                               3144,  1087,       13,   7888)

// Swapped operands, for small m.
ROW("16x64-w1x1-c1x1-s8-n8-promote_twin-swapped",   170,   401,      196,   9251)
ROW("32x64-w1x1-c1x1-s9-n8-promote_twin-swapped",   175,   614,      426,   9338)
ROW("128x64-w1x1-c1x1-s9-n8-promote-swapped",      362,   652,     1650,  10549)
ROW("16x64-w1x1-k2-s10-n8-promote-swapped-split",   280,  5131,      101,   5655)
ROW("16x64-w1x1-k4-s10-n8-promote-swapped-split",   297,  5327,       51,   5629)
TRY("32x64-w1x1-k2-s8-n8-promote-swapped-split",    299,  4873,      203,   5982)
ROW("32x128-w1x2-k4-s9-n8-promote-swapped-split",   339,  5796,      204,   6299)
ROW("64x64-w1x1-k2-s12-n8-promote-swapped-split",   330,  4989,      406,   6951)
ROW("64x128-w1x2-k4-s7-n8-promote-swapped-split",   419,  6548,      404,   6358)
ROW("128x64-w1x1-k2-s7-n8-promote-swapped-split",   415,  5060,      860,   7492)
TRY("16x64-w1x1-k8-s10-n8-promote-swapped-split",   290,  5200,       26,   6300)
TRY("16x64-w1x1-k16-s10-n8-promote-swapped-split",  285,  5700,       13,   6790)
TRY("32x64-w1x1-k8-s8-n8-promote-swapped-split",    290,  4800,       51,   6950)
TRY("32x64-w1x1-k16-s8-n8-promote-swapped-split",   305,  6200,       26,   6850)
TRY("112x128-w1x2-c1x1-s6-e2-n8-promote-swapped-stream", 485, 1500,  4000,  15000)
TRY("160x128-w1x2-c1x1-s4-n8-promote-swapped",      761,  1500,     8000,  10500)
TRY("80x192-w1x3-c1x1-s5-n8-promote-swapped",       540,  1000,     8000,  10500)
