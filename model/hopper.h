// SPDX-License-Identifier: Apache-2.0
//
// Our own model: a GEMM on Hopper (H100, H200; Blackwell by profile) as waves of thread blocks.
//
// A wave takes a soft maximum (power mean of exponent 5) of what it needs of each resource:
//     math    2 tm tn K / flops_clk, rows padded to the instruction's 64, K to whole slabs
//     issue   the same as instructions of 64 x N x 32 bytes, each at least 43.5 + 0.127 N clocks,
//     or
//             43 + 0.40 N when one warpgroup multiplies alone (measured: N = 64 takes 56 and 70,
//             not 32: operands from shared memory, beside the copies into it)
//     zeros   rows past the matrix's edge, of which the chip makes some 13 a clock
//     l2      bytes a block asks L2 for, each operand divided over the cluster: 72 bytes/clk into
//     an
//             SM; 93 per SM from the chip, where 128-byte chunks of rows whose stride is no
//             multiple of 128 bytes lie in two lines and cost up to 2.87 times as much
//     dram    new bytes of the wave, and the stores of the one before, at the DRAM rate; or the
//             loads in flight per 1.28 us
// Around the waves stand the launch, the first loads (clusters start 1.1 us later), per wave the
// part of the epilogue that does not overlap (327 clocks and 100 per 1024 outputs of a warpgroup;
// more for rows that are no multiple of 16 bytes, and to add up splits of K), and the last tile's
// store.
//
// New DRAM bytes: a wave touches a rectangle of the tile grid, as the raster and its group lay it;
// bytes of both operands that fit in 40 MB are read once, beyond that each wave reads its rectangle
// again. The effective capacity is that of H100 and H200, whose L2 is two halves.
//
// Where the constants are from: the form from public measurements of the parts and from what 75
// configurations of this project's persistent kernel take per instruction at 8192^3; the numbers
// from a fit to cold times, at the clock observed inside each kernel, of those kernels on 44 shapes
// (TF32, BF16, FP8; H200, 2026-11-21) together with cuBLASLt and DeepGEMM. The 40 DeepSeek shapes
// and 40 others took no part, but for what rows past the edge cost (read off M = 1 and 16). There:
//     75 configurations, 18389 rows      MAPE 7.8 %, median 4.3 %, p90 21 %, tau 0.76
//       with one bias per kernel              5.6 %,        2.5 %,     15 %,     0.85, A/BF 0.97
//     10 of them, 1770 rows                   7.7 %,        4.0 %,     20 %,     0.80, A/BF 0.98
//       with one bias per kernel              4.4 %,        1.6 %,     12 %,     0.87, A/BF 0.98
// (the 10: tests/data/h200_space_cold.csv). Biases are from half of the shapes, judged on the rest;
// tau is Kendall's within a shape, A/BF the best time over that of the configuration it picks. In
// the tail: row strides that are no multiple of 128 bytes, and wide tiles on narrow problems.
//
// It does not know whether a second tile hides the epilogue (ping-pong), nor FP8 promotion.
#ifndef PLUMB_HOPPER_H
#define PLUMB_HOPPER_H

#include "model/predict.h"

enum hopper_limit {
    HOPPER_MATH,
    HOPPER_ISSUE,
    HOPPER_ZEROS,
    HOPPER_L2,
    HOPPER_DRAM,
    HOPPER_LIMITS
};
const char *hopper_limit_name(enum hopper_limit limit);

// One wave; times in nanoseconds.
struct hopper_wave {
    int64_t blocks;
    double rows, columns; // of the tile grid that the wave touches
    double dram_bytes;    // new from DRAM
    double limits_ns[HOPPER_LIMITS];
    double time_ns;          // soft maximum of the limits
    double clocked_ns;       // the part of it that goes with 1 / clock
    enum hopper_limit limit; // the largest
};

struct hopper_breakdown {
    int32_t tile_m, tile_n, tile_k, stages, blocks_per_sm; // as used
    int64_t tiles, resident;                               // blocks to run, and at once
    double full_waves;                                     // whole number unless stream-K
    struct hopper_wave full, last;
    double launch_ns, fill_ns, waves_ns, overhead_ns, store_ns, split_ns;
    double time_ns, clock_hz;
    double clocked_ns; // what of time_ns goes with 1 / clock
};

// NULL, or a static text: "infeasible" reasons (registers, shared memory, cluster, profile).
const char *hopper(struct hopper_breakdown *out, const struct predict_input *input);

// The SM clock that the power limit leaves after `math_ns` of multiplying within `time_ns`:
// instant droop with the load, then towards cap_clock of the type within half a millisecond.
double hopper_clock_hz(const struct gpu *gpu, enum dtype in, double math_ns, double time_ns);

#endif
