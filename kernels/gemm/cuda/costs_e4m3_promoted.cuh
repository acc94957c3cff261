// SPDX-License-Identifier: Apache-2.0
//
// Costs of the configurations that the selector chooses from, in cycles: of a slab, a tile, a
// launch (cost.h). What `fit costs e4m3-promoted` prints for the times recorded in
// baselines/recorded/h200/ladder.
#ifndef PLUMB_COSTS_E4M3_PROMOTED_CUH
#define PLUMB_COSTS_E4M3_PROMOTED_CUH

#define PLUMB_COSTS_E4M3_PROMOTED(C, type)                                                         \
    C(ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 366, 727, 10499)                        \
    C(ROW(type, 128, 128, 2, 1, 2, 1, 6, 2, m, 8, promote), 519, 655, 13272)                       \
    C(ROW(type, 128, 128, 2, 1, 1, 2, 6, 2, m, 8, promote), 527, 652, 13210)                       \
    C(ROW(type, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, promote), 406, 655, 11107)                        \
    C(ROW(type, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, promote), 810, 1211, 11424)                      \
    C(STREAM_ROW(type, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote), 1, 4396, 14577)                  \
    C(ROW(type, 128, 112, 2, 1, 1, 1, 6, 2, m, 8, promote), 461, 662, 11424)                       \
    C(STREAM_ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 1, 5083, 14577)                  \
    C(ROW(type, 256, 128, 2, 1, 1, 1, 4, 2, m, 8, promote), 1073, 1787, 11860)                     \
    C(ROW(type, 128, 160, 2, 1, 2, 1, 5, 2, m, 8, promote), 737, 1381, 13397)                      \
    C(ROW(type, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, promote), 276, 523, 10401)                        \
    C(ROW(type, 256, 128, 2, 1, 1, 2, 4, 2, m, 8, promote), 1114, 1813, 13149)                     \
    C(STREAM_ROW(type, 128, 112, 2, 1, 2, 1, 6, 2, m, 8, promote), 492, 7327, 14577)               \
    C(SPLIT_PROMOTED_ROW(type, 128, 96, 2, 1, 2, 5, m, 8), 495, 6426, 7387)                        \
    C(SPLIT_PROMOTED_ROW(type, 64, 128, 1, 1, 2, 7, m, 8), 429, 5155, 8151)                        \
    C(SPLIT_PROMOTED_ROW(type, 128, 64, 2, 1, 2, 6, m, 8), 433, 5689, 6509)                        \
    C(SPLIT_PROMOTED_ROW(type, 64, 112, 1, 1, 2, 7, m, 8), 404, 5083, 7925)                        \
    C(SPLIT_PROMOTED_ROW(type, 64, 96, 1, 1, 2, 8, m, 8), 374, 5107, 7634)                         \
    C(SPLIT_PROMOTED_ROW(type, 64, 64, 1, 1, 2, 10, m, 8), 321, 4805, 7353)                        \
    C(SPLIT_PROMOTED_ROW(type, 64, 128, 1, 1, 4, 6, m, 8), 400, 5823, 8228)                        \
    C(ROW(type, 128, 128, 2, 1, 1, 1, 6, 2, m, 8, promote), 524, 548, 11531)                       \
    C(ROW(type, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, promote), 584, 1257, 11264)                      \
    C(ROW(type, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote), 387, 463, 9037)                         \
    C(ROW(type, 128, 160, 2, 1, 1, 1, 5, 2, m, 8, promote), 751, 1318, 11264)                      \
    C(GEMV_PROMOTED_ROW(type), 1, 703, 9426)

#endif
