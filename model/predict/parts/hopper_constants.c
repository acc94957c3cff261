// SPDX-License-Identifier: Apache-2.0
//
// The fitted constants of the hopper model; the list stands in the header. Blackwell has what is
// missing here beside "blocks on Blackwell" in hopper.c; its blocks keep pace, and ask L2 for no
// line twice.
#include "model/predict/hopper.h"

const struct hopper_constants hopper_fitted = {
#define X(name, value) .name = (value),
    HOPPER_CONSTANTS(X)
#undef X
};

const struct hopper_constants blackwell_fitted = {.fill_clk = 3706,
                                                  .dram_rate = 0.88,
                                                  .store_rate = 0.341,
                                                  .l2_rate = 0.444,
                                                  .l2_near = 0.932,
                                                  .l2_next = 1,
                                                  .l2_near_split = 1,
                                                  .l2_near_twin = 1,
                                                  .l2_drift = INFINITY,
                                                  .l2_apart = 1,
                                                  .l2_far = 0.3,
                                                  .l2_near_share = 0.35,
                                                  .l2_kept = 0.3,
                                                  .l2_holds = 0.8,
                                                  .l2_dirty = 0.8,
                                                  .line_64 = 1,
                                                  .line_32 = 1,
                                                  .line_16 = 1,
                                                  .line_split = 1,
                                                  .line_port = 1,
                                                  .reduce_area_clk = 157,
                                                  .sums_rate = 0.539,
                                                  .spread_s = 1.788e-06,
                                                  .spread_round_clk = 1506,
                                                  .transpose_rate = 0.73};
