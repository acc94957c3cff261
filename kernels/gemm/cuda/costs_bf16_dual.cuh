// SPDX-License-Identifier: Apache-2.0
//
// Costs of the configurations that the selector chooses from, in cycles: of a slab, a tile, the
// elements of a tile stored one by one, a launch (cost.h). What `fit costs bf16-dual` prints for
// the times recorded in baselines/recorded/h200/ladder.
#ifndef PLUMB_COSTS_BF16_DUAL_CUH
#define PLUMB_COSTS_BF16_DUAL_CUH

#define PLUMB_COSTS_BF16_DUAL(C, type)                                                             \
    C(DUAL_ROW(type, 128, 112, 2, 1, 2, 1, 4, 2, m, 8, coop), 888, 2136, 17277, 15786)             \
    C(DUAL_ROW(type, 128, 96, 2, 1, 2, 1, 5, 1, m, 8, coop), 751, 3928, 10512, 13651)              \
    C(DUAL_ROW(type, 128, 128, 2, 1, 1, 1, 4, 2, m, 8, coop), 1006, 5036, 9262, 9650)              \
    C(DUAL_SWAPPED_ROW(type, 128, 64, 1, 1, 1, 1, 6, n, 8, coop), 527, 1650, 856, 11003)           \
    C(DUAL_ROW(type, 128, 128, 2, 1, 2, 1, 4, 2, m, 8, coop), 1001, 4738, 17440, 14373)            \
    C(DUAL_ROW(type, 128, 96, 2, 1, 1, 1, 5, 1, m, 16, coop), 754, 5036, 7259, 8664)               \
    C(DUAL_ROW(type, 128, 128, 2, 1, 1, 2, 4, 2, m, 8, coop), 1010, 5155, 10812, 12904)            \
    C(DUAL_ROW(type, 256, 64, 2, 1, 2, 1, 4, 2, m, 8, coop), 1020, 4479, 9913, 12965)              \
    C(DUAL_ROW(type, 128, 96, 2, 1, 1, 2, 5, 1, m, 8, coop), 768, 3873, 5327, 13780)               \
    C(DUAL_ROW(type, 128, 80, 1, 1, 1, 1, 5, 2, m, 16, pingpong), 646, 1, 10914, 13651)            \
    C(DUAL_ROW(type, 128, 80, 1, 1, 1, 1, 5, 2, m, 8, pingpong), 646, 1, 8433, 13715)              \
    C(DUAL_ROW(type, 64, 80, 1, 1, 1, 1, 7, 2, m, 8, coop), 331, 972, 1991, 11159)                 \
    C(DUAL_ROW(type, 128, 64, 2, 1, 2, 1, 6, 2, m, 8, coop), 505, 2424, 7124, 13780)               \
    C(DUAL_ROW(type, 64, 64, 1, 1, 1, 1, 8, 2, m, 8, coop), 283, 776, 1252, 10850)                 \
    C(DUAL_ROW(type, 128, 112, 2, 1, 1, 1, 4, 2, m, 8, coop), 888, 3241, 8433, 10698)              \
    C(DUAL_ROW(type, 128, 128, 2, 1, 1, 1, 4, 2, m, 16, coop), 1006, 5204, 9844, 9295)             \
    C(DUAL_ROW(type, 128, 96, 2, 1, 1, 1, 5, 1, m, 8, coop), 758, 4989, 5060, 8664)                \
    C(DUAL_ROW(type, 64, 96, 1, 1, 1, 1, 6, 2, m, 8, coop), 399, 910, 4175, 11264)                 \
    C(DUAL_ROW(type, 256, 64, 2, 1, 1, 1, 4, 2, m, 8, coop), 1010, 5662, 7140, 8306)               \
    C(DUAL_ROW(type, 256, 64, 2, 1, 1, 2, 4, 2, m, 8, coop), 1006, 5583, 6624, 12844)              \
    C(DUAL_ROW(type, 64, 96, 1, 1, 2, 1, 6, 2, m, 8, coop), 432, 1349, 9571, 12028)                \
    C(DUAL_ROW(type, 64, 128, 1, 1, 1, 1, 5, 2, m, 8, coop), 527, 765, 4059, 11972)                \
    C(DUAL_ROW(type, 64, 64, 1, 1, 1, 1, 4, 2, m, 8, wide), 607, 954, 787, 10353)                  \
    C(DUAL_ROW(type, 64, 128, 1, 1, 2, 1, 5, 2, m, 8, coop), 532, 1821, 12740, 12724)              \
    C(DUAL_ROW(type, 64, 64, 1, 1, 1, 1, 4, 2, m, 8, twin), 302, 74, 94, 11055)                    \
    C(DUAL_ROW(type, 64, 48, 1, 1, 1, 1, 10, 2, m, 8, coop), 257, 693, 1057, 10256)                \
    C(DUAL_SWAPPED_ROW(type, 64, 128, 1, 2, 1, 1, 4, n, 8, coop), 721, 3021, 927, 10256)           \
    C(DUAL_ROW(type, 64, 48, 1, 1, 1, 1, 4, 2, m, 8, twin), 289, 1, 45, 10648)                     \
    C(DUAL_SWAPPED_ROW(type, 64, 64, 1, 1, 1, 1, 4, n, 8, wide), 827, 893, 55, 9251)               \
    C(DUAL_SWAPPED_ROW(type, 64, 64, 1, 1, 1, 1, 8, n, 8, coop), 387, 876, 1, 9251)                \
    C(DUAL_SWAPPED_ROW(type, 64, 64, 1, 1, 1, 1, 4, n, 8, twin), 406, 744, 1, 8745)                \
    C(DUAL_SPLIT_ROW(type, 128, 48, 2, 1, 2, 6, 2, m, 8), 490, 7431, 5155, 6418)                   \
    C(DUAL_ROW(type, 64, 32, 1, 1, 1, 1, 6, 2, m, 8, wide), 471, 363, 139, 9605)                   \
    C(DUAL_ROW(type, 64, 32, 1, 1, 1, 1, 6, 2, m, 8, twin), 232, 450, 155, 9426)                   \
    C(DUAL_SPLIT_ROW(type, 128, 64, 2, 1, 4, 6, 2, m, 8), 618, 9176, 8085, 7250)                   \
    C(DUAL_SWAPPED_ROW(type, 32, 64, 1, 1, 1, 1, 5, n, 8, wide), 639, 1531, 1, 8306)               \
    C(DUAL_SWAPPED_SPLIT_ROW(type, 64, 64, 1, 1, 4, 8, n, 8), 467, 7898, 3413, 6509)               \
    C(DUAL_SWAPPED_ROW(type, 16, 128, 1, 2, 1, 1, 5, n, 8, coop), 508, 2613, 1, 8345)              \
    C(DUAL_SWAPPED_ROW(type, 16, 192, 1, 3, 1, 1, 4, n, 8, coop), 773, 3196, 1, 7082)              \
    C(DUAL_SWAPPED_ROW(type, 16, 128, 1, 2, 1, 1, 3, n, 8, wide), 1316, 1252, 1, 9382)             \
    C(DUAL_SWAPPED_ROW(type, 16, 64, 1, 1, 1, 1, 5, n, 8, twin), 301, 897, 187, 8543)              \
    C(DUAL_SWAPPED_ROW(type, 16, 64, 1, 1, 1, 1, 5, n, 8, wide), 556, 1838, 1, 8113)               \
    C(DUAL_SWAPPED_ROW(type, 16, 64, 1, 1, 1, 1, 9, n, 8, coop), 278, 1062, 1, 9515)               \
    C(DUAL_SWAPPED_SPLIT_ROW(type, 32, 64, 1, 1, 4, 9, n, 8), 413, 6640, 1963, 6509)               \
    C(DUAL_SWAPPED_SPLIT_ROW(type, 16, 64, 1, 1, 4, 9, n, 8), 375, 6103, 1118, 6448)               \
    C(DUAL_ROW(type, 128, 64, 1, 1, 1, 1, 6, 2, m, 8, pingpong), 517, 1, 6640, 13397)              \
    C(DUAL_ROW(type, 128, 64, 2, 1, 1, 1, 6, 2, m, 8, coop), 505, 2552, 2856, 10113)               \
    C(DUAL_STREAM_ROW(type, 64, 64, 1, 1, 1, 1, 8, 2, m, 8, coop), 1, 1299, 586, 14783)            \
    C(DUAL_SWAPPED_STREAM_ROW(type, 16, 64, 1, 1, 1, 1, 5, n, 8, twin), 897, 744, 403, 13651)      \
    C(DUAL_STREAM_ROW(type, 128, 96, 2, 1, 1, 1, 5, 1, m, 8, coop), 444, 1575, 1605, 21309)        \
    C(DUAL_STREAM_ROW(type, 128, 128, 2, 1, 1, 1, 4, 2, m, 8, coop), 795, 1991, 798, 24526)        \
    C(DUAL_GEMV_ROW(type), 3114, 1057, 3783, 7284)

#endif
