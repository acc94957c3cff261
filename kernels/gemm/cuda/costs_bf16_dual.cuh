// SPDX-License-Identifier: Apache-2.0
//
// Costs of the configurations that the selector chooses from, in cycles: of a slab, a tile, the
// elements of a tile stored one by one, a launch (cost.h). What `fit costs bf16-dual` prints for
// the times recorded in baselines/recorded/h200/ladder.
#ifndef PLUMB_COSTS_BF16_DUAL_CUH
#define PLUMB_COSTS_BF16_DUAL_CUH

#define PLUMB_COSTS_BF16_DUAL(C, type)                                                             \
    C(DUAL_ROW(type, 128, 96, 2, 1, 2, 1, 5, 1, m, 8, coop), 754, 3965, 10711, 13524)              \
    C(DUAL_ROW(type, 128, 128, 2, 1, 1, 1, 4, 2, m, 8, coop), 1006, 5253, 9176, 9471)              \
    C(DUAL_SWAPPED_ROW(type, 128, 64, 1, 1, 1, 1, 6, n, 8, coop), 524, 1830, 893, 10850)           \
    C(DUAL_ROW(type, 128, 128, 2, 1, 2, 1, 4, 2, m, 8, coop), 1006, 4716, 17522, 14306)            \
    C(DUAL_ROW(type, 128, 96, 2, 1, 1, 1, 5, 1, m, 16, coop), 754, 5253, 7191, 8463)               \
    C(DUAL_ROW(type, 128, 128, 2, 1, 1, 2, 4, 2, m, 8, coop), 1010, 5253, 10711, 12844)            \
    C(DUAL_ROW(type, 256, 64, 2, 1, 2, 1, 4, 2, m, 8, coop), 1020, 4564, 8817, 12965)              \
    C(DUAL_ROW(type, 128, 96, 2, 1, 1, 2, 5, 1, m, 8, coop), 768, 4059, 5327, 13587)               \
    C(DUAL_ROW(type, 128, 80, 1, 1, 1, 1, 5, 2, m, 16, pingpong), 646, 1, 10711, 13715)            \
    C(DUAL_ROW(type, 128, 80, 1, 1, 1, 1, 5, 2, m, 8, pingpong), 646, 1, 8433, 13715)              \
    C(DUAL_ROW(type, 64, 80, 1, 1, 1, 1, 7, 2, m, 8, coop), 329, 1052, 1981, 11107)                \
    C(DUAL_ROW(type, 128, 64, 2, 1, 2, 1, 6, 2, m, 8, coop), 505, 2505, 7024, 13715)               \
    C(DUAL_ROW(type, 64, 64, 1, 1, 1, 1, 8, 2, m, 8, coop), 283, 817, 1269, 10799)                 \
    C(DUAL_ROW(type, 128, 112, 2, 1, 1, 1, 4, 2, m, 8, coop), 888, 3527, 8473, 10401)              \
    C(DUAL_ROW(type, 128, 128, 2, 1, 1, 1, 4, 2, m, 16, coop), 1006, 5352, 9616, 9208)             \
    C(DUAL_ROW(type, 128, 96, 2, 1, 1, 1, 5, 1, m, 8, coop), 758, 5228, 5060, 8423)                \
    C(DUAL_ROW(type, 64, 96, 1, 1, 1, 1, 6, 2, m, 8, coop), 397, 1009, 4155, 11212)                \
    C(DUAL_ROW(type, 256, 64, 2, 1, 1, 1, 4, 2, m, 8, coop), 1010, 5796, 6749, 8228)               \
    C(DUAL_ROW(type, 256, 64, 2, 1, 1, 2, 4, 2, m, 8, coop), 1006, 5609, 6440, 12844)              \
    C(DUAL_ROW(type, 64, 96, 1, 1, 2, 1, 6, 2, m, 8, coop), 434, 1401, 9707, 11916)                \
    C(DUAL_ROW(type, 64, 128, 1, 1, 1, 1, 5, 2, m, 8, coop), 522, 981, 4097, 11805)                \
    C(DUAL_ROW(type, 64, 64, 1, 1, 1, 1, 4, 2, m, 8, wide), 607, 995, 798, 10304)                  \
    C(DUAL_ROW(type, 64, 128, 1, 1, 2, 1, 5, 2, m, 8, coop), 534, 1882, 12799, 12605)              \
    C(DUAL_ROW(type, 64, 64, 1, 1, 1, 1, 4, 2, m, 8, twin), 302, 131, 86, 11003)                   \
    C(DUAL_ROW(type, 64, 48, 1, 1, 1, 1, 10, 2, m, 8, coop), 257, 730, 1072, 10208)                \
    C(DUAL_SWAPPED_ROW(type, 64, 128, 1, 2, 1, 1, 4, n, 8, coop), 721, 3137, 893, 10160)           \
    C(DUAL_ROW(type, 64, 48, 1, 1, 1, 1, 4, 2, m, 8, twin), 289, 3, 41, 10648)                     \
    C(DUAL_SWAPPED_ROW(type, 64, 64, 1, 1, 1, 1, 4, n, 8, wide), 831, 906, 56, 9208)               \
    C(DUAL_SWAPPED_ROW(type, 64, 64, 1, 1, 1, 1, 8, n, 8, coop), 387, 940, 1, 9165)                \
    C(DUAL_SWAPPED_ROW(type, 64, 64, 1, 1, 1, 1, 4, n, 8, twin), 407, 754, 1, 8704)                \
    C(DUAL_SPLIT_ROW(type, 128, 48, 2, 1, 2, 6, 2, m, 8), 490, 7536, 5180, 6299)                   \
    C(DUAL_ROW(type, 64, 32, 1, 1, 1, 1, 6, 2, m, 8, wide), 474, 375, 162, 9560)                   \
    C(DUAL_ROW(type, 64, 32, 1, 1, 1, 1, 6, 2, m, 8, twin), 233, 442, 134, 9426)                   \
    C(DUAL_SPLIT_ROW(type, 128, 64, 2, 1, 4, 6, 2, m, 8), 621, 9176, 8047, 7250)                   \
    C(DUAL_SWAPPED_ROW(type, 32, 64, 1, 1, 1, 1, 5, n, 8, wide), 642, 1524, 1, 8306)               \
    C(DUAL_SWAPPED_SPLIT_ROW(type, 64, 64, 1, 1, 4, 8, n, 8), 471, 7898, 3429, 6479)               \
    C(DUAL_SWAPPED_ROW(type, 16, 128, 1, 2, 1, 1, 5, n, 8, coop), 513, 2435, 1, 8503)              \
    C(DUAL_SWAPPED_ROW(type, 16, 192, 1, 3, 1, 1, 4, n, 8, coop), 777, 3166, 1, 7082)              \
    C(DUAL_SWAPPED_ROW(type, 16, 128, 1, 2, 1, 1, 3, n, 8, wide), 1322, 1228, 1, 9382)             \
    C(DUAL_SWAPPED_ROW(type, 16, 64, 1, 1, 1, 1, 5, n, 8, twin), 301, 936, 137, 8543)              \
    C(DUAL_SWAPPED_ROW(type, 16, 64, 1, 1, 1, 1, 5, n, 8, wide), 556, 1891, 1, 8075)               \
    C(DUAL_SWAPPED_ROW(type, 16, 64, 1, 1, 1, 1, 9, n, 8, coop), 279, 1062, 1, 9515)               \
    C(DUAL_SWAPPED_SPLIT_ROW(type, 32, 64, 1, 1, 4, 9, n, 8), 417, 6640, 1935, 6509)               \
    C(DUAL_SWAPPED_SPLIT_ROW(type, 16, 64, 1, 1, 4, 9, n, 8), 377, 6103, 1113, 6448)               \
    C(DUAL_ROW(type, 128, 64, 1, 1, 1, 1, 6, 2, m, 8, pingpong), 517, 1, 6456, 13460)              \
    C(DUAL_ROW(type, 128, 64, 2, 1, 1, 1, 6, 2, m, 8, coop), 503, 2700, 2803, 10019)               \
    C(DUAL_STREAM_ROW(type, 64, 64, 1, 1, 1, 1, 8, 2, m, 8, coop), 1, 1299, 586, 14783)            \
    C(DUAL_SWAPPED_STREAM_ROW(type, 16, 64, 1, 1, 1, 1, 5, n, 8, twin), 897, 744, 403, 13651)      \
    C(DUAL_STREAM_ROW(type, 128, 96, 2, 1, 1, 1, 5, 1, m, 8, coop), 444, 1575, 1605, 21309)        \
    C(DUAL_STREAM_ROW(type, 128, 128, 2, 1, 1, 1, 4, 2, m, 8, coop), 795, 1991, 798, 24526)        \
    C(DUAL_GEMV_ROW(type), 3129, 1072, 3560, 7250)

#endif
