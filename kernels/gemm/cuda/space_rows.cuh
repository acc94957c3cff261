// SPDX-License-Identifier: Apache-2.0
//
// The rows of the configuration space, the same for every element type: which tiles, how they are
// shared among warpgroups and clusters, how many stages fit, in which order tiles are walked.
//   R(bm, bn, wm, wn, cm, cn, stages, epilogue pieces, raster, group, mode)
//   S(bm, bn, wm, wn, split of K, stages, raster, group)
#ifndef PLUMB_SPACE_ROWS_CUH
#define PLUMB_SPACE_ROWS_CUH

// The big tiles, in every cluster and order; then widths in steps of 16, to fit waves.
#define PLUMB_SPACE_LARGE(R)                                                                       \
    R(128, 256, 2, 1, 1, 1, 4, 2, m, 4, coop)                                                      \
    R(128, 256, 2, 1, 1, 1, 4, 2, m, 8, coop)                                                      \
    R(128, 256, 2, 1, 1, 1, 4, 2, m, 16, coop)                                                     \
    R(128, 256, 2, 1, 1, 1, 4, 2, n, 8, coop)                                                      \
    R(128, 256, 2, 1, 1, 1, 4, 2, h, 1, coop)                                                      \
    R(128, 256, 2, 1, 1, 1, 3, 2, m, 8, coop)                                                      \
    R(128, 256, 2, 1, 2, 1, 4, 2, m, 4, coop)                                                      \
    R(128, 256, 2, 1, 2, 1, 4, 2, m, 8, coop)                                                      \
    R(128, 256, 2, 1, 2, 1, 4, 2, m, 16, coop)                                                     \
    R(128, 256, 2, 1, 2, 1, 4, 2, n, 8, coop)                                                      \
    R(128, 256, 2, 1, 2, 1, 4, 2, h, 1, coop)                                                      \
    R(128, 256, 2, 1, 1, 2, 4, 2, n, 8, coop)                                                      \
    R(256, 128, 2, 1, 2, 1, 4, 2, m, 8, coop)                                                      \
    R(256, 128, 2, 1, 1, 2, 4, 2, m, 8, coop)                                                      \
    R(256, 128, 2, 1, 1, 2, 4, 2, n, 8, coop)                                                      \
    R(128, 240, 2, 1, 2, 1, 4, 2, m, 8, coop)                                                      \
    R(128, 224, 2, 1, 2, 1, 4, 2, m, 8, coop)                                                      \
    R(128, 208, 2, 1, 1, 1, 4, 2, m, 8, coop)                                                      \
    R(128, 208, 2, 1, 2, 1, 4, 2, m, 8, coop)                                                      \
    R(128, 192, 2, 1, 1, 1, 5, 1, m, 8, coop)                                                      \
    R(128, 192, 2, 1, 1, 1, 5, 1, m, 16, coop)                                                     \
    R(128, 192, 2, 1, 1, 1, 4, 2, m, 8, coop)                                                      \
    R(128, 192, 2, 1, 1, 1, 4, 2, m, 16, coop)                                                     \
    R(128, 192, 2, 1, 1, 1, 4, 2, m, 32, coop)                                                     \
    R(128, 192, 2, 1, 2, 1, 4, 2, m, 8, coop)                                                      \
    R(128, 176, 2, 1, 1, 1, 5, 2, m, 8, coop)                                                      \
    R(128, 176, 2, 1, 2, 1, 5, 2, m, 8, coop)                                                      \
    R(128, 160, 2, 1, 1, 1, 5, 2, m, 8, coop)                                                      \
    R(128, 160, 2, 1, 2, 1, 5, 2, m, 8, coop)                                                      \
    R(128, 144, 2, 1, 1, 1, 5, 2, m, 8, coop)                                                      \
    R(192, 176, 3, 1, 1, 1, 3, 2, m, 8, coop)                                                      \
    R(192, 160, 3, 1, 1, 2, 4, 2, m, 8, coop)

// Small tiles and small m; ping-pong, whose epilogue another tile's main loop hides.
#define PLUMB_SPACE_SMALL(R)                                                                       \
    R(128, 128, 2, 1, 1, 1, 6, 2, m, 8, coop)                                                      \
    R(128, 128, 2, 1, 1, 2, 6, 2, m, 8, coop)                                                      \
    R(128, 112, 2, 1, 1, 1, 6, 2, m, 8, coop)                                                      \
    R(128, 112, 2, 1, 2, 1, 6, 2, m, 8, coop)                                                      \
    R(128, 96, 2, 1, 1, 1, 6, 2, m, 8, coop)                                                       \
    R(128, 64, 2, 1, 1, 1, 8, 2, m, 8, coop)                                                       \
    R(64, 256, 1, 2, 1, 1, 4, 2, m, 8, coop)                                                       \
    R(64, 128, 1, 1, 1, 1, 8, 2, m, 8, coop)                                                       \
    R(64, 112, 1, 1, 1, 1, 9, 2, m, 8, coop)                                                       \
    R(64, 96, 1, 1, 1, 1, 10, 2, m, 8, coop)                                                       \
    R(64, 64, 1, 1, 1, 1, 10, 2, m, 8, coop)                                                       \
    R(64, 64, 1, 1, 1, 1, 5, 2, m, 8, twin)                                                        \
    R(64, 96, 1, 1, 1, 1, 4, 2, m, 8, twin)                                                        \
    R(64, 112, 1, 1, 1, 1, 4, 2, m, 8, twin)                                                       \
    R(64, 128, 1, 1, 1, 1, 4, 2, m, 8, twin)                                                       \
    R(64, 64, 1, 1, 1, 1, 6, 2, m, 8, wide)                                                        \
    R(64, 96, 1, 1, 1, 1, 5, 2, m, 8, wide)                                                        \
    R(128, 176, 1, 1, 1, 1, 5, 2, m, 8, pingpong)                                                  \
    R(128, 176, 1, 1, 1, 1, 5, 2, m, 12, pingpong)                                                 \
    R(128, 176, 1, 1, 1, 1, 5, 2, m, 16, pingpong)                                                 \
    R(128, 176, 1, 1, 1, 1, 5, 2, m, 32, pingpong)                                                 \
    R(128, 176, 1, 1, 1, 1, 5, 2, n, 8, pingpong)                                                  \
    R(128, 176, 1, 1, 1, 2, 5, 2, n, 8, pingpong)                                                  \
    R(128, 176, 1, 1, 1, 2, 5, 2, n, 4, pingpong)                                                  \
    R(128, 176, 1, 1, 2, 1, 5, 2, m, 8, pingpong)                                                  \
    R(128, 160, 1, 1, 1, 1, 5, 2, m, 8, pingpong)                                                  \
    R(128, 160, 1, 1, 1, 1, 5, 2, m, 16, pingpong)                                                 \
    R(128, 144, 1, 1, 1, 1, 5, 2, m, 8, pingpong)                                                  \
    R(128, 144, 1, 1, 1, 1, 5, 2, m, 16, pingpong)                                                 \
    R(128, 128, 1, 1, 1, 1, 6, 2, m, 8, pingpong)                                                  \
    R(128, 128, 1, 1, 1, 1, 6, 2, m, 16, pingpong)                                                 \
    R(128, 128, 1, 1, 1, 1, 6, 2, n, 8, pingpong)                                                  \
    R(128, 128, 1, 1, 2, 1, 6, 2, m, 8, pingpong)                                                  \
    R(128, 128, 1, 1, 1, 2, 6, 2, m, 8, pingpong)

// Few tiles: K divided among a cluster's blocks. With few stages two blocks share an SM.
#define PLUMB_SPACE_SPLIT(S)                                                                       \
    S(64, 64, 1, 1, 2, 10, m, 8)                                                                   \
    S(64, 64, 1, 1, 2, 5, m, 8)                                                                    \
    S(64, 64, 1, 1, 4, 8, m, 8)                                                                    \
    S(64, 96, 1, 1, 2, 8, m, 8)                                                                    \
    S(64, 112, 1, 1, 2, 7, m, 8)                                                                   \
    S(64, 128, 1, 1, 2, 7, m, 8)                                                                   \
    S(64, 128, 1, 1, 2, 3, m, 8)                                                                   \
    S(64, 128, 1, 1, 4, 6, m, 8)                                                                   \
    S(128, 64, 2, 1, 2, 6, m, 8)                                                                   \
    S(128, 64, 2, 1, 4, 6, m, 8)                                                                   \
    S(128, 96, 2, 1, 2, 5, m, 8)                                                                   \
    S(128, 96, 2, 1, 4, 5, m, 8)                                                                   \
    S(128, 112, 2, 1, 2, 4, m, 8)                                                                  \
    S(128, 128, 2, 1, 4, 4, m, 8)

// FP8 with sums promoted every 128 of K.
#define PLUMB_SPACE_PROMOTED(R)                                                                    \
    R(128, 128, 2, 1, 1, 1, 6, 2, m, 8, promote)                                                   \
    R(128, 128, 2, 1, 2, 1, 6, 2, m, 8, promote)                                                   \
    R(128, 128, 2, 1, 1, 2, 6, 2, m, 8, promote)                                                   \
    R(128, 112, 2, 1, 1, 1, 6, 2, m, 8, promote)                                                   \
    R(128, 96, 2, 1, 1, 1, 6, 2, m, 8, promote)                                                    \
    R(128, 144, 2, 1, 1, 1, 5, 2, m, 8, promote)                                                   \
    R(128, 160, 2, 1, 1, 1, 5, 2, m, 8, promote)                                                   \
    R(128, 176, 2, 1, 1, 1, 5, 2, m, 8, promote)                                                   \
    R(128, 160, 2, 1, 2, 1, 5, 2, m, 8, promote)                                                   \
    R(256, 128, 2, 1, 1, 1, 4, 2, m, 8, promote)                                                   \
    R(256, 128, 2, 1, 1, 2, 4, 2, m, 8, promote)                                                   \
    R(64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote)                                                    \
    R(64, 64, 1, 1, 1, 1, 10, 2, m, 8, promote)                                                    \
    R(128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote)

#endif
