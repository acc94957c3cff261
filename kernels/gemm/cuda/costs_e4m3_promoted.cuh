// SPDX-License-Identifier: Apache-2.0
//
// Costs of the configurations that the selector chooses from, in cycles: of a slab, a tile, the
// elements of a tile stored one by one, a launch (cost.h). What `fit costs e4m3-promoted` prints
// for the times recorded in baselines/recorded/h200/ladder.
#ifndef PLUMB_COSTS_E4M3_PROMOTED_CUH
#define PLUMB_COSTS_E4M3_PROMOTED_CUH

#define PLUMB_COSTS_E4M3_PROMOTED(C, type)                                                         \
    C(ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 383, 690, 6703, 10401)                  \
    C(ROW(type, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, promote), 818, 1447, 18711, 10648)               \
    C(ROW(type, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, promote), 424, 809, 10561, 10304)                 \
    C(ROW(type, 128, 128, 2, 1, 2, 1, 6, 2, m, 8, promote), 534, 761, 15081, 12429)                \
    C(ROW(type, 128, 128, 2, 1, 1, 2, 6, 2, m, 8, promote), 542, 761, 14801, 12085)                \
    C(STREAM_ROW(type, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote), 445, 1246, 2979, 12665)          \
    C(ROW(type, 128, 112, 2, 1, 1, 1, 6, 2, m, 8, promote), 478, 798, 12271, 10598)                \
    C(STREAM_ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 510, 1420, 2470, 12371)          \
    C(ROW(type, 128, 160, 2, 1, 2, 1, 5, 2, m, 8, promote), 751, 1407, 18107, 12371)               \
    C(ROW(type, 256, 128, 2, 1, 1, 1, 4, 2, m, 8, promote), 1088, 2166, 28934, 10549)              \
    C(ROW(type, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, promote), 295, 477, 2951, 10160)                  \
    C(ROW(type, 256, 128, 2, 1, 1, 2, 4, 2, m, 8, promote), 1119, 2156, 29759, 11972)              \
    C(STREAM_ROW(type, 128, 112, 2, 1, 2, 1, 6, 2, m, 8, promote), 640, 1531, 6992, 14993)         \
    C(SPLIT_PROMOTED_ROW(type, 128, 96, 2, 1, 2, 5, m, 8), 518, 5990, 4396, 7353)                  \
    C(SPLIT_PROMOTED_ROW(type, 128, 64, 2, 1, 2, 6, m, 8), 437, 5352, 2751, 6758)                  \
    C(SPLIT_PROMOTED_ROW(type, 64, 112, 1, 1, 2, 7, m, 8), 412, 4919, 2302, 7562)                  \
    C(SPLIT_PROMOTED_ROW(type, 64, 96, 1, 1, 2, 8, m, 8), 379, 4919, 2009, 7422)                   \
    C(SPLIT_PROMOTED_ROW(type, 64, 32, 1, 1, 2, 7, m, 8), 358, 5253, 769, 5198)                    \
    C(SPLIT_PROMOTED_ROW(type, 64, 64, 1, 1, 4, 5, m, 8), 520, 5990, 761, 5149)                    \
    C(SPLIT_PROMOTED_ROW(type, 64, 128, 1, 1, 4, 6, m, 8), 475, 5851, 1330, 7353)                  \
    C(ROW(type, 128, 128, 2, 1, 1, 1, 6, 2, m, 8, promote), 542, 677, 14323, 10748)                \
    C(ROW(type, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, promote), 601, 1368, 15954, 10401)               \
    C(ROW(type, 128, 160, 2, 1, 1, 1, 5, 2, m, 8, promote), 761, 1510, 17277, 10450)               \
    C(GEMV_PROMOTED_ROW(type), 3144, 1087, 13, 7888)                                               \
    C(SWAPPED_SPLIT_PROMOTED_ROW(type, 64, 64, 1, 1, 2, 12, n, 8), 330, 4989, 406, 6951)           \
    C(SWAPPED_ROW(type, 32, 64, 1, 1, 1, 1, 9, n, 8, promote_twin), 175, 614, 426, 9338)           \
    C(SWAPPED_SPLIT_PROMOTED_ROW(type, 128, 64, 1, 1, 2, 7, n, 8), 415, 5060, 860, 7492)           \
    C(SWAPPED_ROW(type, 16, 64, 1, 1, 1, 1, 8, n, 8, promote_twin), 170, 401, 196, 9251)           \
    C(SWAPPED_SPLIT_PROMOTED_ROW(type, 16, 64, 1, 1, 4, 10, n, 8), 297, 5327, 51, 5629)            \
    C(SWAPPED_SPLIT_PROMOTED_ROW(type, 32, 128, 1, 2, 4, 9, n, 8), 339, 5796, 204, 6299)           \
    C(SWAPPED_SPLIT_PROMOTED_ROW(type, 64, 128, 1, 2, 4, 7, n, 8), 419, 6548, 404, 6358)           \
    C(SWAPPED_ROW(type, 128, 64, 1, 1, 1, 1, 9, n, 8, promote), 362, 652, 1650, 10549)             \
    C(SWAPPED_SPLIT_PROMOTED_ROW(type, 16, 64, 1, 1, 2, 10, n, 8), 280, 5131, 101, 5655)

#endif
