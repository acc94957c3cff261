// SPDX-License-Identifier: Apache-2.0
//
// Rows on trial, for any element type; NEXT.md says what each group is for.
#ifndef PLUMB_NEXT_ROWS_CUH
#define PLUMB_NEXT_ROWS_CUH

#include "trial.cuh"

// Launch: short kernels, the present best rows with less to wait for at both ends.
#define NEXT_LAUNCH(T)                                                                             \
    TRIAL(maps, T, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, coop)                                         \
    TRIAL(first, T, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, coop)                                        \
    TRIAL(ready, T, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, coop)                                        \
    TRIAL(firstspare, T, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, coop)                                   \
    TRIAL(first, T, 128, 176, 1, 1, 1, 1, 5, 2, m, 16, pingpong)                                   \
    TRIAL(ready, T, 128, 176, 1, 1, 1, 1, 5, 2, m, 16, pingpong)                                   \
    TRIAL(ready, T, 128, 176, 1, 1, 1, 1, 5, 2, n, 8, pingpong)                                    \
    TRIAL(ready, T, 128, 176, 1, 1, 1, 1, 5, 2, m, 8, pingpong)                                    \
    TRIAL(first, T, 128, 128, 1, 1, 1, 1, 6, 2, m, 8, pingpong)                                    \
    TRIAL(ready, T, 128, 128, 1, 1, 1, 1, 6, 2, m, 8, pingpong)                                    \
    TRIAL(ready, T, 128, 128, 1, 1, 1, 1, 6, 2, n, 8, pingpong)                                    \
    TRIAL(ready, T, 128, 144, 1, 1, 1, 1, 5, 2, m, 8, pingpong)                                    \
    TRIAL(ready, T, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, coop)                                        \
    TRIAL(ready, T, 128, 128, 2, 1, 1, 1, 6, 2, m, 8, coop)                                        \
    TRIAL(ready, T, 128, 112, 2, 1, 1, 1, 6, 2, m, 8, coop)                                        \
    TRIAL(ready, T, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, coop)                                         \
    TRIAL(first, T, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, coop)                                         \
    TRIAL(ready, T, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, coop)                                         \
    TRIAL(maps, T, 64, 112, 1, 1, 1, 1, 9, 2, m, 8, coop)                                          \
    TRIAL(first, T, 64, 112, 1, 1, 1, 1, 9, 2, m, 8, coop)                                         \
    TRIAL(ready, T, 64, 112, 1, 1, 1, 1, 9, 2, m, 8, coop)                                         \
    TRIAL(first, T, 64, 96, 1, 1, 1, 1, 10, 2, m, 8, coop)                                         \
    TRIAL(ready, T, 64, 96, 1, 1, 1, 1, 10, 2, m, 8, coop)                                         \
    TRIAL(first, T, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, coop)                                         \
    TRIAL(ready, T, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, coop)                                         \
    TRIAL(firstspare, T, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, coop)                                    \
    TRIAL(first, T, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, coop)                                         \
    TRIAL(ready, T, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, coop)                                         \
    TRIAL(ready, T, 64, 64, 1, 1, 1, 1, 5, 2, m, 8, twin)

// Memory: one operand is read once, in longer pieces of its rows, or from different places of K.
#define NEXT_MEMORY(T)                                                                             \
    TRIAL(readyskew, T, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, coop)                                     \
    TRIAL(readywide, T, 64, 128, 1, 1, 1, 1, 4, 2, m, 8, coop)                                     \
    TRIAL(wideskew, T, 64, 128, 1, 1, 1, 1, 4, 2, m, 8, coop)                                      \
    TRIAL(wider, T, 64, 128, 1, 1, 1, 1, 2, 2, m, 8, coop)                                         \
    TRIAL(readyskew, T, 64, 96, 1, 1, 1, 1, 10, 2, m, 8, coop)                                     \
    TRIAL(readywide, T, 64, 96, 1, 1, 1, 1, 5, 2, m, 8, coop)                                      \
    TRIAL(readyskew, T, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, coop)                                     \
    TRIAL(readywide, T, 64, 64, 1, 1, 1, 1, 6, 2, m, 8, coop)                                      \
    TRIAL(wider, T, 64, 64, 1, 1, 1, 1, 3, 2, m, 8, coop)                                          \
    TRIAL(wideskew, T, 64, 64, 1, 1, 1, 1, 3, 2, m, 8, twin)                                       \
    TRIAL(readywide, T, 128, 128, 1, 1, 1, 1, 3, 2, m, 8, pingpong)                                \
    TRIAL(readyskew, T, 128, 128, 1, 1, 1, 1, 6, 2, m, 8, pingpong)                                \
    TRIAL(readywide, T, 128, 64, 2, 1, 1, 1, 4, 2, m, 8, coop)

// Few tiles: split K with less to wait for, in three parts for n = 2112; stream-K likewise.
#define NEXT_FEW(T)                                                                                \
    TRIAL_SPLIT(first, T, 64, 128, 1, 1, 4, 6, m, 8, coop)                                         \
    TRIAL_SPLIT(ready, T, 64, 128, 1, 1, 4, 6, m, 8, coop)                                         \
    TRIAL_SPLIT(readywide, T, 64, 128, 1, 1, 4, 3, m, 8, coop)                                     \
    TRIAL_SPLIT(ready, T, 64, 128, 1, 1, 2, 7, m, 8, coop)                                         \
    TRIAL_SPLIT(ready, T, 64, 64, 1, 1, 4, 5, m, 8, coop)                                          \
    TRIAL_SPLIT(first, T, 64, 64, 1, 1, 2, 10, m, 8, coop)                                         \
    TRIAL_SPLIT(ready, T, 64, 64, 1, 1, 2, 10, m, 8, coop)                                         \
    TRIAL_SPLIT(readywide, T, 64, 64, 1, 1, 2, 5, m, 8, coop)                                      \
    TRIAL_SPLIT(ready, T, 64, 64, 1, 1, 2, 5, m, 8, coop)                                          \
    TRIAL_SPLIT(ready, T, 64, 96, 1, 1, 2, 8, m, 8, coop)                                          \
    TRIAL_SPLIT(ready, T, 64, 48, 1, 1, 3, 5, m, 8, coop)                                          \
    TRIAL_SPLIT(ready, T, 64, 48, 1, 1, 3, 10, m, 8, coop)                                         \
    TRIAL_SPLIT(ready, T, 64, 64, 1, 1, 3, 9, m, 8, coop)                                          \
    TRIAL_SPLIT(ready, T, 64, 32, 1, 1, 2, 7, m, 8, coop)                                          \
    TRIAL_SPLIT(ready, T, 128, 96, 2, 1, 4, 5, m, 8, coop)                                         \
    TRIAL_SPLIT(ready, T, 128, 48, 2, 1, 3, 6, m, 8, coop)                                         \
    TRIAL_SPLIT(ready, T, 128, 64, 2, 1, 2, 6, m, 8, coop)                                         \
    TRIAL_STREAM(maps, T, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, coop)                                   \
    TRIAL_STREAM(mapsready, T, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, coop)                              \
    TRIAL_STREAM(mapsready, T, 64, 128, 1, 1, 2, 1, 8, 2, m, 8, coop)                              \
    TRIAL_STREAM(mapsready, T, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, coop)                              \
    TRIAL_STREAM(mapsready, T, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, coop)

// Power: large problems, fewer bytes from memory by other bands, or by not keeping C in L2.
#define NEXT_POWER(T)                                                                              \
    TRIAL(evict, T, 128, 176, 1, 1, 1, 1, 5, 2, m, 16, pingpong)                                   \
    TRIAL(evict, T, 128, 176, 1, 1, 1, 1, 5, 2, m, 32, pingpong)                                   \
    TRIAL(evict, T, 128, 256, 2, 1, 1, 1, 4, 2, m, 16, coop)                                       \
    TRIAL(evict, T, 128, 192, 2, 1, 1, 1, 4, 2, m, 16, coop)                                       \
    TRIAL(plain, T, 128, 176, 1, 1, 1, 1, 5, 2, m, 12, pingpong)                                   \
    TRIAL(plain, T, 128, 176, 1, 1, 1, 1, 5, 2, m, 24, pingpong)                                   \
    TRIAL(plain, T, 128, 176, 1, 1, 1, 1, 5, 2, m, 32, pingpong)                                   \
    TRIAL(plain, T, 128, 176, 1, 1, 1, 1, 5, 2, n, 16, pingpong)                                   \
    TRIAL(plain, T, 128, 176, 1, 1, 2, 1, 5, 2, m, 16, pingpong)                                   \
    TRIAL(plain, T, 128, 176, 1, 1, 2, 1, 5, 2, n, 16, pingpong)                                   \
    TRIAL(plain, T, 128, 176, 1, 1, 1, 2, 5, 2, n, 4, pingpong)                                    \
    TRIAL(plain, T, 128, 176, 1, 1, 1, 2, 5, 2, n, 16, pingpong)                                   \
    TRIAL(plain, T, 128, 176, 1, 1, 1, 2, 5, 2, m, 16, pingpong)                                   \
    TRIAL(evict, T, 128, 176, 1, 1, 1, 2, 5, 2, n, 8, pingpong)                                    \
    TRIAL(evict, T, 128, 176, 1, 1, 2, 1, 5, 2, m, 16, pingpong)                                   \
    TRIAL(plain, T, 128, 256, 2, 1, 1, 1, 4, 2, m, 32, coop)                                       \
    TRIAL(plain, T, 128, 256, 2, 1, 1, 1, 3, 2, m, 16, coop)                                       \
    TRIAL(plain, T, 128, 192, 2, 1, 1, 1, 4, 2, m, 32, coop)

// Delivery: rows of K that do not begin with a line of L2 come at half the rate, so blocks share
// more of them: clusters of 2 x 2, and of two for small tiles.
#define NEXT_ODD(T)                                                                                \
    TRIAL(plain, T, 128, 256, 2, 1, 2, 2, 4, 2, m, 8, coop)                                        \
    TRIAL(plain, T, 256, 128, 2, 1, 2, 2, 4, 2, m, 8, coop)                                        \
    TRIAL(plain, T, 128, 192, 2, 1, 2, 2, 4, 2, m, 8, coop)                                        \
    TRIAL(plain, T, 128, 128, 2, 1, 2, 2, 6, 2, m, 8, coop)                                        \
    TRIAL(plain, T, 128, 96, 2, 1, 1, 2, 6, 2, m, 8, coop)                                         \
    TRIAL(plain, T, 128, 96, 2, 1, 2, 2, 6, 2, m, 8, coop)                                         \
    TRIAL(plain, T, 128, 64, 2, 1, 1, 2, 8, 2, m, 8, coop)                                         \
    TRIAL(plain, T, 128, 64, 2, 1, 2, 2, 8, 2, m, 8, coop)                                         \
    TRIAL(plain, T, 64, 128, 1, 1, 2, 1, 8, 2, m, 8, coop)

#endif
