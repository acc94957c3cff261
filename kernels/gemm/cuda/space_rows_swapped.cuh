// SPDX-License-Identifier: Apache-2.0
//
// Rows of the configuration space with swapped operands, for small m, the same for every element
// type: two blocks per SM, or K split over a cluster's shared memory.
//   W(bm, bn, wm, wn, cm, cn, stages, raster, group, mode)
//   X(bm, bn, wm, wn, split of K, stages, raster, group)
#ifndef PLUMB_SPACE_ROWS_SWAPPED_CUH
#define PLUMB_SPACE_ROWS_SWAPPED_CUH

#define PLUMB_SPACE_SWAPPED(W)                                                                     \
    W(16, 64, 1, 1, 1, 1, 8, n, 8, twin)                                                           \
    W(32, 64, 1, 1, 1, 1, 9, n, 8, twin)                                                           \
    W(64, 64, 1, 1, 1, 1, 6, n, 8, twin)                                                           \
    W(128, 64, 1, 1, 1, 1, 4, n, 8, twin)                                                          \
    W(128, 64, 1, 1, 1, 1, 9, n, 8, coop)

// FP8 with sums promoted every 128 of K.
#define PLUMB_SPACE_SWAPPED_PROMOTED(W)                                                            \
    W(16, 64, 1, 1, 1, 1, 8, n, 8, promote_twin)                                                   \
    W(32, 64, 1, 1, 1, 1, 9, n, 8, promote_twin)                                                   \
    W(128, 64, 1, 1, 1, 1, 9, n, 8, promote)

#define PLUMB_SPACE_SWAPPED_SPLIT_PROMOTED(X)                                                      \
    X(16, 64, 1, 1, 2, 10, n, 8)                                                                   \
    X(16, 64, 1, 1, 4, 10, n, 8)                                                                   \
    X(32, 64, 1, 1, 2, 8, n, 8)                                                                    \
    X(32, 128, 1, 2, 4, 9, n, 8)                                                                   \
    X(64, 64, 1, 1, 2, 12, n, 8)                                                                   \
    X(64, 128, 1, 2, 4, 7, n, 8)                                                                   \
    X(128, 64, 1, 1, 2, 7, n, 8)

#define PLUMB_SPACE_SWAPPED_SPLIT(X)                                                               \
    X(16, 64, 1, 1, 2, 10, n, 8)                                                                   \
    X(16, 64, 1, 1, 8, 10, n, 8)                                                                   \
    X(16, 64, 1, 1, 16, 10, n, 8)                                                                  \
    X(16, 192, 1, 3, 4, 8, n, 8)                                                                   \
    X(32, 64, 1, 1, 2, 8, n, 8)                                                                    \
    X(32, 64, 1, 1, 4, 8, n, 8)                                                                    \
    X(32, 64, 1, 1, 8, 8, n, 8)                                                                    \
    X(32, 64, 1, 1, 16, 8, n, 8)                                                                   \
    X(32, 128, 1, 2, 4, 9, n, 8)                                                                   \
    X(64, 64, 1, 1, 2, 12, n, 8)                                                                   \
    X(64, 64, 1, 1, 3, 12, n, 8)                                                                   \
    X(64, 128, 1, 2, 4, 7, n, 8)                                                                   \
    X(128, 64, 1, 1, 2, 7, n, 8)                                                                   \
    X(128, 64, 1, 1, 3, 7, n, 8)

#endif
