// SPDX-License-Identifier: Apache-2.0
//
// Costs of the configurations that the selector chooses from, in cycles: of a slab, a tile, the
// elements of a tile stored one by one, a launch (cost.h). What `fit costs e4m3-scaled` prints for
// the times recorded in baselines/recorded/h200/ladder.
#ifndef PLUMB_COSTS_E4M3_SCALED_CUH
#define PLUMB_COSTS_E4M3_SCALED_CUH

#define PLUMB_COSTS_E4M3_SCALED(C, type)                                                           \
    C(SCALED_ROW(type, 64, 96, 1, 1, 1, 1, 9, 2, m, 8, scaled), 401, 868, 2000, 9695)              \
    C(SCALED_SPLIT_ROW(type, 128, 64, 2, 1, 2, 6, m, 8), 471, 5823, 2000, 5899)                    \
    C(SCALED_SPLIT_ROW(type, 64, 64, 1, 1, 4, 5, m, 8), 579, 6218, 2000, 3744)                     \
    C(SCALED_ROW(type, 128, 160, 2, 1, 1, 1, 5, 2, m, 8, scaled), 876, 2019, 2000, 9605)           \
    C(SCALED_ROW(type, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, scaled), 586, 1269, 2000, 9122)            \
    C(SCALED_ROW(type, 128, 192, 2, 1, 1, 1, 5, 1, m, 8, scaled), 980, 2357, 2000, 9208)           \
    C(SCALED_SPLIT_ROW(type, 128, 64, 2, 1, 4, 6, m, 8), 478, 6426, 2000, 5030)                    \
    C(SCALED_ROW(type, 256, 128, 2, 1, 1, 2, 4, 1, m, 8, scaled), 1212, 2937, 2000, 9560)          \
    C(SCALED_SPLIT_ROW(type, 64, 128, 1, 1, 2, 6, m, 8), 451, 5327, 2000, 6358)                    \
    C(SCALED_ROW(type, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, scaled), 800, 1779, 2000, 9165)           \
    C(SCALED_ROW(type, 256, 128, 2, 1, 1, 1, 4, 1, m, 8, scaled), 1224, 3151, 2000, 7742)          \
    C(SCALED_SPLIT_ROW(type, 64, 112, 1, 1, 2, 7, m, 8), 440, 5403, 2000, 6388)                    \
    C(SCALED_ROW(type, 128, 128, 2, 1, 2, 1, 6, 1, m, 8, scaled), 672, 1183, 2000, 10401)          \
    C(SCALED_SPLIT_ROW(type, 64, 96, 1, 1, 2, 8, m, 8), 422, 5302, 2000, 5629)                     \
    C(SCALED_SPLIT_ROW(type, 64, 64, 1, 1, 4, 8, m, 8), 308, 5505, 2000, 5396)                     \
    C(SCALED_SPLIT_ROW(type, 64, 32, 1, 1, 4, 12, m, 8), 270, 5060, 2000, 5682)                    \
    C(SCALED_SPLIT_ROW(type, 64, 64, 1, 1, 8, 8, m, 8), 339, 5327, 2000, 6269)                     \
    C(SCALED_ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, scaled), 421, 1052, 2000, 9208)            \
    C(SCALED_SPLIT_ROW(type, 64, 48, 1, 1, 2, 10, m, 8), 317, 4805, 2000, 5735)                    \
    C(SCALED_ROW(type, 128, 64, 2, 1, 1, 1, 7, 2, m, 8, scaled), 484, 637, 2000, 9560)             \
    C(SCALED_ROW(type, 128, 128, 2, 1, 1, 1, 5, 2, m, 8, scaled), 650, 1161, 2000, 9426)           \
    C(SCALED_ROW(type, 128, 128, 2, 1, 1, 1, 6, 1, m, 8, scaled), 659, 1349, 2000, 9295)           \
    C(SCALED_ROW(type, 128, 128, 2, 1, 1, 2, 6, 1, m, 8, scaled), 666, 1293, 2000, 10748)          \
    C(SCALED_SPLIT_ROW(type, 64, 64, 1, 1, 2, 10, m, 8), 319, 5155, 2000, 5871)                    \
    C(SCALED_ROW(type, 64, 112, 1, 1, 1, 1, 8, 2, m, 8, scaled), 452, 1108, 2000, 9650)            \
    C(SCALED_ROW(type, 128, 192, 2, 1, 1, 1, 4, 2, m, 8, scaled), 985, 2057, 2000, 9426)           \
    C(SCALED_ROW(type, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, scaled), 322, 561, 2000, 9741)

#endif
