// SPDX-License-Identifier: Apache-2.0
//
// Costs of the configurations that the selector chooses from, in cycles: of a slab, a tile, the
// elements of a tile stored one by one, a launch (cost.h). What `fit costs bf16-dual` prints for
// the times recorded in baselines/recorded/h200/ladder.
#ifndef PLUMB_COSTS_BF16_DUAL_CUH
#define PLUMB_COSTS_BF16_DUAL_CUH

#define PLUMB_COSTS_BF16_DUAL(C, type)                                                             \
    C(DUAL_ROW(type, 128, 112, 2, 1, 2, 1, 4, 2, m, 8, coop), 884, 2270, 1713, 15639)              \
    C(DUAL_ROW(type, 128, 96, 2, 1, 2, 1, 5, 1, m, 8, coop), 754, 3891, 1991, 13524)               \
    C(DUAL_ROW(type, 128, 128, 2, 1, 1, 1, 4, 2, m, 8, coop), 1006, 5253, 2126, 9295)              \
    C(DUAL_SWAPPED_ROW(type, 128, 64, 1, 1, 1, 1, 6, n, 8, coop), 527, 1674, 1129, 10901)          \
    C(DUAL_ROW(type, 128, 128, 2, 1, 2, 1, 4, 2, m, 8, coop), 1001, 4805, 2600, 14173)             \
    C(DUAL_ROW(type, 128, 96, 2, 1, 1, 1, 5, 1, m, 16, coop), 758, 4989, 2751, 8543)               \
    C(DUAL_ROW(type, 128, 128, 2, 1, 1, 2, 4, 2, m, 8, coop), 1010, 5180, 2136, 12844)             \
    C(DUAL_ROW(type, 256, 64, 2, 1, 2, 1, 4, 2, m, 8, coop), 1020, 4458, 969, 12965)               \
    C(DUAL_ROW(type, 128, 96, 2, 1, 1, 2, 5, 1, m, 8, coop), 768, 3928, 2951, 13587)               \
    C(DUAL_ROW(type, 128, 80, 1, 1, 1, 1, 5, 2, m, 16, pingpong), 646, 1, 3381, 13587)             \
    C(DUAL_ROW(type, 128, 80, 1, 1, 1, 1, 5, 2, m, 8, pingpong), 646, 1, 3413, 13587)              \
    C(DUAL_ROW(type, 64, 80, 1, 1, 1, 1, 7, 2, m, 8, coop), 332, 958, 940, 11107)                  \
    C(DUAL_ROW(type, 128, 64, 2, 1, 2, 1, 6, 2, m, 8, coop), 505, 2435, 1161, 13715)               \
    C(DUAL_ROW(type, 64, 64, 1, 1, 1, 1, 8, 2, m, 8, coop), 283, 776, 360, 10850)                  \
    C(DUAL_ROW(type, 128, 112, 2, 1, 1, 1, 4, 2, m, 8, coop), 888, 3256, 2047, 10598)              \
    C(DUAL_ROW(type, 128, 128, 2, 1, 1, 1, 4, 2, m, 16, coop), 1006, 5377, 2197, 8995)             \
    C(DUAL_ROW(type, 128, 96, 2, 1, 1, 1, 5, 1, m, 8, coop), 758, 4989, 2470, 8583)                \
    C(DUAL_ROW(type, 64, 96, 1, 1, 1, 1, 6, 2, m, 8, coop), 399, 919, 1538, 11212)                 \
    C(DUAL_ROW(type, 256, 64, 2, 1, 1, 1, 4, 2, m, 8, coop), 1010, 5609, 1085, 8345)               \
    C(DUAL_ROW(type, 256, 64, 2, 1, 1, 2, 4, 2, m, 8, coop), 1006, 5609, 411, 12784)               \
    C(DUAL_ROW(type, 64, 96, 1, 1, 2, 1, 6, 2, m, 8, coop), 434, 1349, 3064, 11860)                \
    C(DUAL_ROW(type, 64, 64, 1, 1, 1, 1, 4, 2, m, 8, wide), 607, 967, 509, 10304)                  \
    C(DUAL_ROW(type, 64, 128, 1, 1, 2, 1, 5, 2, m, 8, coop), 532, 1864, 3510, 12546)               \
    C(DUAL_ROW(type, 64, 64, 1, 1, 1, 1, 4, 2, m, 8, twin), 308, 1, 567, 10499)                    \
    C(DUAL_ROW(type, 64, 48, 1, 1, 1, 1, 10, 2, m, 8, coop), 257, 706, 536, 10208)                 \
    C(DUAL_SWAPPED_ROW(type, 64, 128, 1, 2, 1, 1, 4, n, 8, coop), 718, 3122, 504, 10160)           \
    C(DUAL_ROW(type, 64, 48, 1, 1, 1, 1, 4, 2, m, 8, twin), 294, 1, 1072, 10019)                   \
    C(DUAL_SWAPPED_ROW(type, 64, 64, 1, 1, 1, 1, 4, n, 8, wide), 827, 906, 832, 9165)              \
    C(DUAL_SPLIT_ROW(type, 128, 48, 2, 1, 2, 6, 2, m, 8), 490, 7431, 737, 6448)                    \
    C(DUAL_ROW(type, 64, 32, 1, 1, 1, 1, 6, 2, m, 8, wide), 471, 372, 334, 9560)                   \
    C(DUAL_ROW(type, 64, 32, 1, 1, 1, 1, 6, 2, m, 8, twin), 242, 1, 511, 9295)                     \
    C(DUAL_SPLIT_ROW(type, 128, 64, 2, 1, 4, 6, 2, m, 8), 615, 9133, 1355, 7318)                   \
    C(DUAL_SWAPPED_ROW(type, 32, 64, 1, 1, 1, 1, 5, n, 8, wide), 642, 1489, 300, 8306)             \
    C(DUAL_SWAPPED_SPLIT_ROW(type, 64, 64, 1, 1, 4, 8, n, 8), 465, 7824, 787, 6663)                \
    C(DUAL_SWAPPED_ROW(type, 16, 64, 1, 1, 1, 1, 5, n, 8, wide), 556, 1864, 31, 8075)              \
    C(DUAL_SWAPPED_ROW(type, 16, 64, 1, 1, 1, 1, 9, n, 8, coop), 279, 995, 1, 9605)                \
    C(DUAL_SWAPPED_SPLIT_ROW(type, 32, 64, 1, 1, 4, 9, n, 8), 412, 6671, 468, 6479)                \
    C(DUAL_SWAPPED_SPLIT_ROW(type, 16, 64, 1, 1, 4, 9, n, 8), 373, 6103, 408, 6448)                \
    C(DUAL_ROW(type, 128, 64, 1, 1, 1, 1, 6, 2, m, 8, pingpong), 517, 1, 2896, 13272)              \
    C(DUAL_ROW(type, 128, 64, 2, 1, 1, 1, 6, 2, m, 8, coop), 505, 2564, 1375, 10019)               \
    C(DUAL_STREAM_ROW(type, 64, 64, 1, 1, 1, 1, 8, 2, m, 8, coop), 1, 1246, 334, 14923)            \
    C(DUAL_SWAPPED_STREAM_ROW(type, 16, 64, 1, 1, 1, 1, 5, n, 8, twin), 892, 713, 162, 13780)      \
    C(DUAL_STREAM_ROW(type, 128, 96, 2, 1, 1, 1, 5, 1, m, 8, coop), 438, 1553, 216, 21409)         \
    C(DUAL_STREAM_ROW(type, 128, 128, 2, 1, 1, 1, 4, 2, m, 8, coop), 792, 1963, 241, 24642)        \
    C(DUAL_GEMV_ROW(type), 3114, 1057, 3783, 7284)

#endif
