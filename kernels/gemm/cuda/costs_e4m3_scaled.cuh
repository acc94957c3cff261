// SPDX-License-Identifier: Apache-2.0
//
// Costs of the configurations that the selector chooses from, in cycles: of a slab, a tile, the
// elements of a tile stored one by one, a launch (cost.h). What `fit costs e4m3-scaled` prints for
// the times recorded in baselines/recorded/h200/ladder.
#ifndef PLUMB_COSTS_E4M3_SCALED_CUH
#define PLUMB_COSTS_E4M3_SCALED_CUH

#define PLUMB_COSTS_E4M3_SCALED(C, type)                                                           \
    C(SCALED_SPLIT_ROW(type, 64, 128, 1, 1, 4, 5, m, 8), 500, 6456, 2000, 7492)                    \
    C(SCALED_SPLIT_ROW(type, 64, 64, 1, 1, 2, 10, m, 8), 341, 5377, 2000, 6663)                    \
    C(SCALED_SPLIT_ROW(type, 64, 96, 1, 1, 2, 8, m, 8), 440, 5742, 2000, 6182)                     \
    C(SCALED_SPLIT_ROW(type, 64, 128, 1, 1, 2, 6, m, 8), 460, 5715, 2000, 7318)                    \
    C(SCALED_SPLIT_ROW(type, 128, 64, 2, 1, 2, 6, m, 8), 500, 6132, 2000, 6726)                    \
    C(SCALED_SPLIT_ROW(type, 64, 48, 1, 1, 4, 8, m, 8), 304, 5403, 2000, 6601)                     \
    C(SCALED_SPLIT_ROW(type, 64, 64, 1, 1, 4, 8, m, 8), 335, 5715, 2000, 6182)                     \
    C(SCALED_ROW(type, 64, 48, 1, 1, 1, 1, 5, 2, m, 8, twin_scaled), 269, 765, 2000, 9972)         \
    C(SCALED_ROW(type, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, scaled), 346, 551, 2000, 10648)            \
    C(SCALED_SPLIT_ROW(type, 64, 64, 1, 1, 8, 8, m, 8), 346, 5689, 2000, 7353)                     \
    C(SCALED_ROW(type, 64, 64, 1, 1, 1, 1, 5, 2, m, 8, twin_scaled), 283, 628, 2000, 10799)        \
    C(SCALED_ROW(type, 64, 96, 1, 1, 1, 1, 9, 2, m, 8, scaled), 388, 963, 2000, 10598)             \
    C(SCALED_SPLIT_ROW(type, 128, 64, 2, 1, 4, 6, m, 8), 500, 6766, 2000, 6448)                    \
    C(SCALED_SPLIT_ROW(type, 64, 32, 1, 1, 4, 12, m, 8), 287, 5403, 2000, 6448)                    \
    C(SCALED_ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, scaled), 427, 1042, 2000, 10698)           \
    C(SCALED_ROW(type, 64, 112, 1, 1, 1, 1, 8, 2, m, 8, scaled), 436, 1038, 2000, 10698)           \
    C(SCALED_ROW(type, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, scaled), 569, 932, 2000, 11212)            \
    C(SCALED_ROW(type, 128, 128, 2, 1, 1, 1, 6, 1, m, 8, scaled), 629, 1167, 2000, 11531)          \
    C(SCALED_ROW(type, 128, 128, 2, 1, 1, 1, 5, 2, m, 8, scaled), 629, 945, 2000, 11805)           \
    C(SCALED_ROW(type, 128, 112, 2, 1, 1, 1, 6, 2, m, 8, scaled), 616, 1118, 2000, 11640)          \
    C(SCALED_ROW(type, 128, 128, 2, 1, 1, 1, 5, 2, n, 8, scaled), 632, 914, 2000, 11805)           \
    C(SCALED_ROW(type, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, scaled), 742, 1689, 2000, 11317)          \
    C(SCALED_ROW(type, 128, 160, 2, 1, 1, 1, 5, 2, m, 8, scaled), 809, 1666, 2000, 11750)          \
    C(SCALED_ROW(type, 128, 192, 2, 1, 1, 1, 5, 1, m, 8, scaled), 909, 1935, 2000, 11695)          \
    C(SCALED_ROW(type, 128, 192, 2, 1, 1, 1, 4, 2, m, 8, scaled), 909, 1538, 2000, 12085)          \
    C(SCALED_ROW(type, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, scaled), 933, 1538, 2000, 11860)          \
    C(SCALED_ROW(type, 128, 176, 2, 1, 1, 1, 5, 2, m, 16, scaled), 937, 1524, 2000, 11805)         \
    C(SCALED_ROW(type, 256, 128, 2, 1, 1, 1, 4, 1, m, 8, scaled), 1190, 2829, 2000, 10850)         \
    C(SCALED_ROW(type, 256, 128, 2, 1, 1, 2, 4, 1, m, 8, scaled), 1207, 2675, 2000, 12429)         \
    C(SCALED_ROW(type, 256, 128, 2, 1, 1, 2, 4, 1, m, 16, scaled), 1201, 2687, 2000, 12546)        \
    C(SCALED_SPLIT_ROW(type, 64, 96, 1, 1, 4, 7, m, 8), 420, 6517, 2000, 6448)                     \
    C(SCALED_SPLIT_ROW(type, 64, 64, 1, 1, 4, 5, m, 8), 587, 6703, 2000, 4580)                     \
    C(SCALED_SPLIT_ROW(type, 64, 48, 1, 1, 2, 10, m, 8), 328, 5107, 2000, 6570)

#endif
