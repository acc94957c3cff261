// SPDX-License-Identifier: Apache-2.0
//
// Costs of the configurations that the selector chooses from, in cycles: of a slab, a tile, the
// elements of a tile stored one by one, a launch (cost.h). What `fit costs e4m3-promoted` prints
// for the times recorded in baselines/recorded/h200/ladder.
#ifndef PLUMB_COSTS_E4M3_PROMOTED_CUH
#define PLUMB_COSTS_E4M3_PROMOTED_CUH

#define PLUMB_COSTS_E4M3_PROMOTED(C, type)                                                         \
    C(ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 378, 652, 6830, 10401)                  \
    C(ROW(type, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, promote), 424, 744, 10711, 10353)                 \
    C(ROW(type, 128, 128, 2, 1, 2, 1, 6, 2, m, 8, promote), 532, 751, 15295, 12488)                \
    C(ROW(type, 128, 128, 2, 1, 1, 2, 6, 2, m, 8, promote), 542, 754, 14941, 12085)                \
    C(STREAM_ROW(type, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote), 435, 1299, 3766, 12546)          \
    C(ROW(type, 128, 112, 2, 1, 1, 1, 6, 2, m, 8, promote), 474, 758, 12444, 10598)                \
    C(STREAM_ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 508, 1461, 2281, 12429)          \
    C(ROW(type, 128, 160, 2, 1, 2, 1, 5, 2, m, 8, promote), 747, 1454, 18192, 12256)               \
    C(ROW(type, 256, 128, 2, 1, 1, 1, 4, 2, m, 8, promote), 1088, 2136, 29620, 10549)              \
    C(ROW(type, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, promote), 284, 472, 2993, 10304)                  \
    C(ROW(type, 256, 128, 2, 1, 1, 2, 4, 2, m, 8, promote), 1125, 2116, 30323, 12028)              \
    C(STREAM_ROW(type, 128, 112, 2, 1, 2, 1, 6, 2, m, 8, promote), 628, 1597, 8593, 14993)         \
    C(SPLIT_PROMOTED_ROW(type, 128, 96, 2, 1, 2, 5, m, 8), 521, 6074, 4175, 7250)                  \
    C(SPLIT_PROMOTED_ROW(type, 128, 64, 2, 1, 2, 6, m, 8), 439, 5557, 2313, 6479)                  \
    C(SPLIT_PROMOTED_ROW(type, 64, 112, 1, 1, 2, 7, m, 8), 416, 4966, 2057, 7422)                  \
    C(SPLIT_PROMOTED_ROW(type, 64, 96, 1, 1, 2, 8, m, 8), 382, 5012, 1658, 7250)                   \
    C(SPLIT_PROMOTED_ROW(type, 64, 32, 1, 1, 2, 7, m, 8), 378, 5107, 710, 5173)                    \
    C(SPLIT_PROMOTED_ROW(type, 64, 64, 1, 1, 4, 5, m, 8), 566, 5715, 697, 5247)                    \
    C(SPLIT_PROMOTED_ROW(type, 64, 128, 1, 1, 4, 6, m, 8), 480, 5934, 780, 7318)                   \
    C(ROW(type, 128, 128, 2, 1, 1, 1, 6, 2, m, 8, promote), 539, 652, 14663, 10648)                \
    C(ROW(type, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, promote), 598, 1343, 16180, 10304)               \
    C(ROW(type, 128, 160, 2, 1, 1, 1, 5, 2, m, 8, promote), 758, 1503, 17440, 10353)               \
    C(ROW(type, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote), 376, 514, 7157, 9471)                   \
    C(GEMV_PROMOTED_ROW(type), 3144, 1087, 2000, 7888)                                             \
    C(SWAPPED_SPLIT_PROMOTED_ROW(type, 64, 64, 1, 1, 2, 12, n, 8), 339, 5131, 1, 6509)             \
    C(SWAPPED_ROW(type, 32, 64, 1, 1, 1, 1, 9, n, 8, promote_twin), 175, 430, 390, 9560)           \
    C(SWAPPED_SPLIT_PROMOTED_ROW(type, 128, 64, 1, 1, 2, 7, n, 8), 417, 5352, 99, 6821)            \
    C(SWAPPED_ROW(type, 16, 64, 1, 1, 1, 1, 8, n, 8, promote_twin), 178, 305, 282, 9338)           \
    C(SWAPPED_SPLIT_PROMOTED_ROW(type, 16, 64, 1, 1, 4, 10, n, 8), 309, 5715, 295, 5198)           \
    C(SWAPPED_SPLIT_PROMOTED_ROW(type, 32, 128, 1, 2, 4, 9, n, 8), 369, 6103, 153, 5762)           \
    C(SWAPPED_SPLIT_PROMOTED_ROW(type, 64, 128, 1, 2, 4, 7, n, 8), 445, 6830, 1, 5927)             \
    C(SWAPPED_ROW(type, 128, 64, 1, 1, 1, 1, 9, n, 8, promote), 352, 659, 393, 10549)              \
    C(SWAPPED_SPLIT_PROMOTED_ROW(type, 16, 64, 1, 1, 2, 10, n, 8), 286, 6046, 1, 4645)

#endif
