// SPDX-License-Identifier: Apache-2.0
//
// Costs of the configurations that the selector chooses from, in cycles: of a slab, a tile, a
// launch (cost.h). What `fit costs e4m3-promoted` prints for the times recorded in
// baselines/recorded/h200/ladder.
#ifndef PLUMB_COSTS_E4M3_PROMOTED_CUH
#define PLUMB_COSTS_E4M3_PROMOTED_CUH

#define PLUMB_COSTS_E4M3_PROMOTED(C, type)                                                         \
    C(ROW(type, 128, 128, 2, 1, 1, 1, 6, 2, m, 8, promote), 539, 958, 12141)                       \
    C(ROW(type, 128, 128, 2, 1, 2, 1, 6, 2, m, 8, promote), 595, 958, 14306)                       \
    C(ROW(type, 128, 128, 2, 1, 1, 2, 6, 2, m, 8, promote), 589, 1028, 14173)                      \
    C(ROW(type, 128, 112, 2, 1, 1, 1, 6, 2, m, 8, promote), 506, 967, 12429)                       \
    C(ROW(type, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, promote), 446, 1038, 12313)                       \
    C(ROW(type, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, promote), 718, 1590, 11860)                      \
    C(ROW(type, 128, 160, 2, 1, 1, 1, 5, 2, m, 8, promote), 779, 1545, 11750)                      \
    C(ROW(type, 128, 160, 2, 1, 2, 1, 5, 2, m, 8, promote), 779, 1721, 13397)                      \
    C(ROW(type, 256, 128, 2, 1, 1, 1, 4, 2, m, 8, promote), 1146, 2675, 11972)                     \
    C(ROW(type, 256, 128, 2, 1, 1, 2, 4, 2, m, 8, promote), 1241, 2552, 13715)                     \
    C(ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 409, 674, 11264)                        \
    C(ROW(type, 64, 96, 1, 1, 1, 1, 10, 2, m, 8, promote), 370, 769, 11055)                        \
    C(ROW(type, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, promote), 324, 551, 10698)                        \
    C(ROW(type, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote), 392, 776, 10304)                        \
    C(SPLIT_PROMOTED_ROW(type, 64, 64, 1, 1, 2, 10, m, 8), 346, 4989, 7318)                        \
    C(SPLIT_PROMOTED_ROW(type, 64, 96, 1, 1, 2, 8, m, 8), 392, 5403, 7527)                         \
    C(SPLIT_PROMOTED_ROW(type, 64, 112, 1, 1, 2, 7, m, 8), 414, 5352, 7888)                        \
    C(SPLIT_PROMOTED_ROW(type, 64, 128, 1, 1, 2, 7, m, 8), 433, 5428, 8384)                        \
    C(SPLIT_PROMOTED_ROW(type, 64, 128, 1, 1, 4, 6, m, 8), 451, 5689, 8384)                        \
    C(SPLIT_PROMOTED_ROW(type, 128, 64, 2, 1, 2, 6, m, 8), 447, 5934, 7082)                        \
    C(SPLIT_PROMOTED_ROW(type, 128, 64, 2, 1, 4, 6, m, 8), 475, 5531, 6695)                        \
    C(SPLIT_PROMOTED_ROW(type, 128, 96, 2, 1, 2, 5, m, 8), 538, 6456, 7778)                        \
    C(SPLIT_PROMOTED_ROW(type, 128, 96, 2, 1, 4, 5, m, 8), 567, 6132, 8623)                        \
    C(SPLIT_PROMOTED_ROW(type, 128, 128, 2, 1, 2, 4, m, 8), 659, 6132, 9832)                       \
    C(STREAM_ROW(type, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 347, 1, 19131)                   \
    C(STREAM_ROW(type, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote), 349, 1, 18000)                   \
    C(STREAM_ROW(type, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, promote), 580, 1, 20621)                   \
    C(STREAM_ROW(type, 128, 112, 2, 1, 2, 1, 6, 2, m, 8, promote), 558, 733, 21110)                \
    C(STREAM_ROW(type, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, promote), 1, 1, 17916)

#endif
