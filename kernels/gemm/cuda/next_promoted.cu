// SPDX-License-Identifier: Apache-2.0
//
// On trial in E4M3 with sums promoted: tiles that fit 777 and 576, two partial sums at 144 columns,
// less to wait for at both ends.
#include "trial.cuh"

static constexpr plumb_kernel rows[] = {
    TRIAL(first, e4m3, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, promote) TRIAL(
        ready, e4m3, 128, 176, 2, 1, 1, 1, 5, 2, m, 8,
        promote) TRIAL(ready, e4m3, 128, 192, 2, 1, 1, 1, 4, 2, m, 8,
                       promote) TRIAL(plain, e4m3, 128, 192, 2, 1, 2, 1, 4, 2, m, 8, promote)
        TRIAL(plain, e4m3, 128, 176, 2, 1, 2, 1, 5, 2, m, 8, promote) TRIAL(
            two, e4m3, 128, 144, 2, 1, 1, 1, 5, 2, m, 8,
            promote) TRIAL(readytwo, e4m3, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, promote)
            TRIAL(two, e4m3, 128, 144, 2, 1, 2, 1, 5, 2, m, 8,
                  promote) TRIAL(ready, e4m3, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, promote)
                TRIAL(ready, e4m3, 128, 128, 2, 1, 1, 1, 6, 2, m, 8,
                      promote) TRIAL(ready, e4m3, 128, 112, 2, 1, 1, 1, 6, 2, m, 8, promote)
                    TRIAL(ready, e4m3, 128, 96, 2, 1, 1, 1, 6, 2, m, 8,
                          promote) TRIAL(ready, e4m3, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote)
                        TRIAL(ready, e4m3, 64, 128, 1, 1, 1, 1, 8, 2, m, 8,
                              promote) TRIAL(ready, e4m3, 64, 112, 1, 1, 1, 1, 9, 2, m, 8, promote)
                            TRIAL(ready, e4m3, 64, 96, 1, 1, 1, 1, 10, 2, m, 8, promote)
                                TRIAL(first, e4m3, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, promote) TRIAL(
                                    ready, e4m3, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, promote)
                                    TRIAL(readyskew, e4m3, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, promote)
                                        TRIAL_SPLIT(ready, e4m3, 64, 128, 1, 1, 4, 6, m, 8, promote)
                                            TRIAL_SPLIT(ready, e4m3, 64, 128, 1, 1, 2, 7, m, 8,
                                                        promote) TRIAL_SPLIT(ready, e4m3, 64, 32, 1,
                                                                             1, 2, 7, m, 8, promote)
                                                TRIAL_SPLIT(ready, e4m3, 64, 64, 1, 1, 2, 10, m, 8,
                                                            promote) TRIAL_SPLIT(ready, e4m3, 64,
                                                                                 64, 1, 1, 4, 5, m,
                                                                                 8, promote)
                                                    TRIAL_SPLIT(
                                                        ready, e4m3, 64, 96, 1, 1, 2, 8, m, 8,
                                                        promote) TRIAL_SPLIT(ready, e4m3, 64, 48, 1,
                                                                             1, 3, 5, m, 8, promote)
                                                        TRIAL_SPLIT(ready, e4m3, 128, 64, 2, 1, 2,
                                                                    6, m, 8, promote)
                                                            TRIAL_SPLIT(ready, e4m3, 128, 96, 2, 1,
                                                                        4, 5, m, 8, promote)
                                                                TRIAL_STREAM(mapsready, e4m3, 64,
                                                                             128, 1, 1, 1, 1, 8, 2,
                                                                             m, 8, promote)};
PLUMB_TABLE(rows)
