// SPDX-License-Identifier: Apache-2.0
//
// Costs of the configurations that the selector chooses from, in cycles: of a slab, a tile, the
// elements of a tile stored one by one, a launch (cost.h). What `fit costs e4m3-promoted` prints
// for the times recorded in baselines/recorded/h200/ladder.
#ifndef PLUMB_COSTS_E4M3_PROMOTED_CUH
#define PLUMB_COSTS_E4M3_PROMOTED_CUH

#define PLUMB_COSTS_E4M3_PROMOTED(C, type)                                                         \
    C(ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 367, 727, 5906, 10208)                  \
    C(ROW(type, 128, 128, 2, 1, 2, 1, 6, 2, m, 8, promote), 519, 727, 12156, 12605)                \
    C(ROW(type, 128, 128, 2, 1, 1, 2, 6, 2, m, 8, promote), 527, 710, 12271, 12665)                \
    C(ROW(type, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, promote), 408, 700, 10812, 10450)                 \
    C(ROW(type, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, promote), 807, 1324, 15584, 10748)               \
    C(STREAM_ROW(type, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote), 304, 1263, 3151, 14106)          \
    C(ROW(type, 128, 112, 2, 1, 1, 1, 6, 2, m, 8, promote), 463, 727, 11120, 10698)                \
    C(STREAM_ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 292, 1468, 172597, 13587)        \
    C(ROW(type, 256, 128, 2, 1, 1, 1, 4, 2, m, 8, promote), 1068, 1954, 21435, 11159)              \
    C(ROW(type, 128, 160, 2, 1, 2, 1, 5, 2, m, 8, promote), 737, 1489, 15512, 12488)               \
    C(ROW(type, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, promote), 279, 506, 2368, 10160)                  \
    C(STREAM_ROW(type, 128, 112, 2, 1, 2, 1, 6, 2, m, 8, promote), 569, 2106, 7431, 14853)         \
    C(SPLIT_PROMOTED_ROW(type, 128, 96, 2, 1, 2, 5, m, 8), 502, 6189, 3122, 7387)                  \
    C(SPLIT_PROMOTED_ROW(type, 128, 64, 2, 1, 2, 6, m, 8), 441, 5479, 2126, 6479)                  \
    C(SPLIT_PROMOTED_ROW(type, 64, 112, 1, 1, 2, 7, m, 8), 410, 4873, 1447, 8113)                  \
    C(SPLIT_PROMOTED_ROW(type, 64, 96, 1, 1, 2, 8, m, 8), 381, 4919, 1246, 7706)                   \
    C(SPLIT_PROMOTED_ROW(type, 64, 64, 1, 1, 2, 10, m, 8), 330, 4585, 1018, 7457)                  \
    C(SPLIT_PROMOTED_ROW(type, 64, 128, 1, 1, 4, 6, m, 8), 462, 5990, 262, 7706)                   \
    C(ROW(type, 128, 128, 2, 1, 1, 1, 6, 2, m, 8, promote), 527, 611, 11173, 10901)                \
    C(ROW(type, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, promote), 584, 1343, 13668, 10499)               \
    C(ROW(type, 128, 160, 2, 1, 1, 1, 5, 2, m, 8, promote), 751, 1420, 13861, 10450)               \
    C(GEMV_PROMOTED_ROW(type), 3114, 1004, 2000, 7778)

#endif
