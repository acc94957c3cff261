// SPDX-License-Identifier: Apache-2.0
//
// Costs of the configurations that the selector chooses from, in cycles: of a slab, a tile, the
// elements of a tile stored one by one, a launch (cost.h). What `fit costs e4m3-promoted` prints
// for the times recorded in baselines/recorded/h200/ladder.
#ifndef PLUMB_COSTS_E4M3_PROMOTED_CUH
#define PLUMB_COSTS_E4M3_PROMOTED_CUH

#define PLUMB_COSTS_E4M3_PROMOTED(C, type)                                                         \
    C(ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 376, 817, 5934, 9560)                   \
    C(ROW(type, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, promote), 822, 1567, 13926, 9832)                \
    C(ROW(type, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, promote), 426, 868, 8553, 9382)                   \
    C(ROW(type, 128, 128, 2, 1, 2, 1, 6, 2, m, 8, promote), 534, 868, 11764, 11972)                \
    C(ROW(type, 128, 128, 2, 1, 1, 2, 6, 2, m, 8, promote), 544, 901, 11225, 11585)                \
    C(STREAM_ROW(type, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote), 352, 1118, 662, 14645)           \
    C(ROW(type, 128, 112, 2, 1, 1, 1, 6, 2, m, 8, promote), 474, 889, 9798, 9832)                  \
    C(STREAM_ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 409, 1287, 488, 14509)           \
    C(ROW(type, 128, 160, 2, 1, 2, 1, 5, 2, m, 8, promote), 758, 1658, 14391, 11370)               \
    C(ROW(type, 256, 128, 2, 1, 1, 1, 4, 2, m, 8, promote), 1093, 2291, 22996, 10256)              \
    C(ROW(type, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, promote), 284, 567, 2803, 9787)                   \
    C(STREAM_ROW(type, 128, 112, 2, 1, 2, 1, 6, 2, m, 8, promote), 588, 1730, 2712, 16236)         \
    C(SPLIT_PROMOTED_ROW(type, 128, 96, 2, 1, 2, 5, m, 8), 523, 6578, 2869, 6269)                  \
    C(SPLIT_PROMOTED_ROW(type, 128, 64, 2, 1, 2, 6, m, 8), 458, 5689, 1935, 5735)                  \
    C(SPLIT_PROMOTED_ROW(type, 64, 112, 1, 1, 2, 7, m, 8), 412, 5228, 1434, 7318)                  \
    C(SPLIT_PROMOTED_ROW(type, 64, 32, 1, 1, 2, 7, m, 8), 450, 4458, 1362, 4558)                   \
    C(SPLIT_PROMOTED_ROW(type, 64, 64, 1, 1, 2, 10, m, 8), 335, 4783, 761, 6983)                   \
    C(SPLIT_PROMOTED_ROW(type, 64, 64, 1, 1, 4, 5, m, 8), 651, 4942, 1324, 6039)                   \
    C(SPLIT_PROMOTED_ROW(type, 64, 128, 1, 1, 4, 6, m, 8), 487, 5878, 559, 7706)                   \
    C(ROW(type, 128, 128, 2, 1, 1, 1, 6, 2, m, 8, promote), 542, 747, 11225, 10113)                \
    C(ROW(type, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, promote), 598, 1531, 11764, 9650)                \
    C(ROW(type, 128, 160, 2, 1, 1, 1, 5, 2, m, 8, promote), 765, 1762, 13226, 9251)                \
    C(ROW(type, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote), 398, 586, 6336, 7634)                   \
    C(GEMV_PROMOTED_ROW(type), 3144, 1087, 2000, 7888)

#endif
