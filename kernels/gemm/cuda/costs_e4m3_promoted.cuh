// SPDX-License-Identifier: Apache-2.0
//
// Costs of the configurations that the selector chooses from, in cycles: of a slab, a tile, a
// launch (cost.h). What `fit costs e4m3-promoted` prints for the times recorded in
// baselines/recorded/h200/ladder.
#ifndef PLUMB_COSTS_E4M3_PROMOTED_CUH
#define PLUMB_COSTS_E4M3_PROMOTED_CUH

#define PLUMB_COSTS_E4M3_PROMOTED(C, type)                                                         \
    C(SPLIT_PROMOTED_ROW(type, 64, 64, 1, 1, 2, 10, m, 8), 352, 4828, 7182)                        \
    C(SPLIT_PROMOTED_ROW(type, 64, 96, 1, 1, 2, 8, m, 8), 382, 5083, 7925)                         \
    C(SPLIT_PROMOTED_ROW(type, 64, 112, 1, 1, 2, 7, m, 8), 408, 5060, 8113)                        \
    C(SPLIT_PROMOTED_ROW(type, 64, 128, 1, 1, 2, 7, m, 8), 419, 5083, 8786)                        \
    C(SPLIT_PROMOTED_ROW(type, 64, 128, 1, 1, 4, 6, m, 8), 392, 5479, 8745)                        \
    C(SPLIT_PROMOTED_ROW(type, 128, 64, 2, 1, 2, 6, m, 8), 435, 5479, 8113)                        \
    C(SPLIT_PROMOTED_ROW(type, 128, 96, 2, 1, 2, 5, m, 8), 511, 5823, 9338)                        \
    C(STREAM_ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 1, 4966, 14577)                  \
    C(STREAM_ROW(type, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote), 1, 4396, 14577)                  \
    C(STREAM_ROW(type, 128, 112, 2, 1, 2, 1, 6, 2, m, 8, promote), 513, 7191, 14577)               \
    C(ROW(type, 128, 128, 2, 1, 1, 1, 6, 2, m, 8, promote), 544, 687, 11212)                       \
    C(ROW(type, 128, 128, 2, 1, 2, 1, 6, 2, m, 8, promote), 587, 885, 12784)                       \
    C(ROW(type, 128, 128, 2, 1, 1, 2, 6, 2, m, 8, promote), 589, 783, 12605)                       \
    C(ROW(type, 128, 112, 2, 1, 1, 1, 6, 2, m, 8, promote), 487, 737, 11107)                       \
    C(ROW(type, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, promote), 455, 806, 10799)                        \
    C(ROW(type, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, promote), 624, 1355, 11805)                      \
    C(ROW(type, 128, 160, 2, 1, 1, 1, 5, 2, m, 8, promote), 758, 1454, 11212)                      \
    C(ROW(type, 128, 160, 2, 1, 2, 1, 5, 2, m, 8, promote), 884, 1349, 14373)                      \
    C(ROW(type, 256, 128, 2, 1, 1, 1, 4, 2, m, 8, promote), 1173, 1972, 11916)                     \
    C(ROW(type, 256, 128, 2, 1, 1, 2, 4, 2, m, 8, promote), 1184, 2126, 13587)                     \
    C(ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 429, 617, 10799)                        \
    C(ROW(type, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, promote), 341, 488, 10450)                        \
    C(ROW(type, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote), 390, 533, 9471)                         \
    C(GEMV_PROMOTED_ROW(type), 1, 737, 9037)                                                       \
    C(ROW(type, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, promote), 803, 1935, 13026)

#endif
