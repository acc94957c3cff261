// SPDX-License-Identifier: Apache-2.0
//
// More rows of the configuration space, for few tiles and small m, the same for every element type:
// split-K over a cluster's shared memory in narrow tiles, and stream-K.
//   S(bm, bn, wm, wn, split of K, stages, raster, group)
//   K(bm, bn, wm, wn, cm, cn, stages, epilogue pieces, raster, group, mode)
#ifndef PLUMB_SPACE_ROWS_FEW_CUH
#define PLUMB_SPACE_ROWS_FEW_CUH

#define PLUMB_SPACE_SPLIT_NARROW(S)                                                                \
    S(64, 48, 1, 1, 2, 12, m, 8)                                                                   \
    S(64, 64, 1, 1, 4, 5, m, 8)

// Tiny outputs with long K: parts of K for every SM. Clusters of sixteen lie in some GPCs only.
#define PLUMB_SPACE_SPLIT_FAR(S)                                                                   \
    S(64, 32, 1, 1, 8, 12, m, 8)                                                                   \
    S(64, 64, 1, 1, 8, 10, m, 8)                                                                   \
    S(64, 32, 1, 1, 16, 7, m, 8)

// K in a part for every SM, up to sixteen of a tile.
//   P(bm, bn, wm, wn, stages, raster, group, mode)
#define PLUMB_SPACE_SPREAD(P)                                                                      \
    P(64, 64, 1, 1, 6, m, 8, wide)                                                                 \
    P(128, 64, 2, 1, 8, m, 8, coop)                                                                \
    P(128, 128, 2, 1, 6, m, 8, coop)

// One tile per block, soon begun.
//   B(bm, bn, wm, wn, cm, cn, stages, epilogue pieces, raster, group, mode)
#define PLUMB_SPACE_BRIEF(B)                                                                       \
    B(64, 64, 1, 1, 1, 1, 4, 2, m, 4, wide)                                                        \
    B(64, 96, 1, 1, 1, 1, 5, 2, m, 4, wide)                                                        \
    B(64, 128, 1, 1, 1, 1, 4, 2, m, 4, wide)

#define PLUMB_SPACE_STREAM(K)                                                                      \
    K(64, 64, 1, 1, 1, 1, 10, 2, m, 8, coop)                                                       \
    K(64, 128, 1, 1, 1, 1, 8, 2, m, 8, coop)                                                       \
    K(128, 64, 2, 1, 1, 1, 8, 2, m, 8, coop)                                                       \
    K(128, 128, 2, 1, 2, 1, 6, 2, m, 8, coop)                                                      \
    K(128, 128, 2, 1, 1, 2, 6, 2, m, 8, coop)                                                      \
    K(128, 160, 2, 1, 2, 1, 5, 2, m, 8, coop)                                                      \
    K(64, 128, 1, 1, 2, 1, 8, 2, m, 8, coop)

// FP8 with sums promoted every 128 of K.
#define PLUMB_SPACE_SPLIT_PROMOTED(S)                                                              \
    S(64, 32, 1, 1, 2, 7, m, 8)                                                                    \
    S(64, 64, 1, 1, 2, 10, m, 8)                                                                   \
    S(64, 64, 1, 1, 2, 5, m, 8)                                                                    \
    S(64, 64, 1, 1, 4, 5, m, 8)                                                                    \
    S(64, 96, 1, 1, 2, 8, m, 8)                                                                    \
    S(64, 112, 1, 1, 2, 7, m, 8)                                                                   \
    S(64, 128, 1, 1, 2, 7, m, 8)                                                                   \
    S(64, 128, 1, 1, 4, 6, m, 8)                                                                   \
    S(128, 64, 2, 1, 2, 6, m, 8)                                                                   \
    S(128, 96, 2, 1, 2, 5, m, 8)

#define PLUMB_SPACE_STREAM_PROMOTED(K)                                                             \
    K(64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote)                                                    \
    K(128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote)                                                    \
    K(128, 112, 2, 1, 2, 1, 6, 2, m, 8, promote)

#endif
