// SPDX-License-Identifier: Apache-2.0
//
// Our own model: a GEMM on Hopper (H100, H200; Blackwell by profile) as waves of thread blocks.
// What follows is of kernels whose operands come by bulk copies and are multiplied by wgmma; how a
// wave of the others is timed (FP32 without tensor cores, mma.sync) stands in simt.h.
//
// A wave takes a soft maximum (power mean of exponent 5) of what it needs of each resource:
//     math    2 tm tn K / flops_clk, rows padded to the instruction's 64, K to whole slabs
//     issue   the same as instructions of 64 x N x 32 bytes, each at least 31 + 0.196 N clocks, or
//             57 + 0.105 N when one warpgroup multiplies alone or in ping-pong (measured: N = 64
//             takes 56 and 70, not 32: operands from shared memory, beside the copies into it), and
//             FP8 sums promoted in between
//     zeros   rows past the matrix's edge, of which the chip makes some 17 a clock, on top of
//     l2      bytes a block asks L2 for, each operand divided over the cluster: 75 bytes/clk into
//             an SM; 102 per SM from the chip, where 128-byte chunks of rows whose stride is no
//             multiple of 128 bytes lie in two lines and cost up to 2.87 times as much
//     dram    new bytes of the wave, and the stores of the one before, at the DRAM rate; or the
//             loads in flight per 1.1 us
// Around the waves stand the launch, the first loads (clusters start 0.3 us later), per wave the
// part of the epilogue that does not overlap (394 clocks and 112 per 1024 outputs of a warpgroup;
// 718 more per 1024 for rows that are no multiple of 16 bytes; more to add up splits of K; a fifth
// less where two blocks share an SM), 2720 clocks before a block's successor multiplies in grids
// that are not persistent, and the last tile's store.
//
// New DRAM bytes: a wave touches a rectangle of the tile grid, as the raster and its group lay it;
// bytes of both operands that fit in 40 MB are read once, beyond that each wave reads its rectangle
// again. The effective capacity is that of H100 and H200, whose L2 is two halves.
//
// Where the constants are from: the form from public measurements of the parts and from what 75
// configurations of this project's persistent kernel take per instruction at 8192^3; the numbers
// from a fit to cold times, at the clock observed inside each kernel, of these configurations on
// 109 random shapes (TF32, BF16, FP8; H200, 2026-11-21; baselines/recorded/h200: ladder/fit,
// accuracy/aligned and accuracy/odd). The 40 DeepSeek shapes and 40 others
// gave no number. While the form was chosen their errors were looked at, but for the 20 of
// more.problems, which were set aside until the end. There:
//     75 configurations, 80 shapes, 18389 rows   MAPE 6.3 %, median 3.9 %, p90 15.1 %, tau 0.80
//       with one bias per kernel                      4.6 %,        2.4 %,     11.6 %,     0.87,
//                                                A/BF 0.985, worst 0.83
//     the 20 set aside, with bias, 4380 rows          5.3 %,        2.8 %,     12.5 %,     0.85,
//                                                A/BF 0.981
// Biases are from half of the shapes, judged on the rest; tau is Kendall's within a shape, A/BF the
// best time over that of the configuration it picks. In the tail: two blocks per SM, waves of
// narrow tiles that L2 limits, outputs whose rows are no multiple of 16 bytes (p90 20 %), row
// strides that are no multiple of 128 bytes (15 %).
//
// That the same warpgroups store a tile between the next one's slabs made no difference that a
// bias per kernel does not take up: OVERLAP_NEXT_TILE is not used.
#ifndef PLUMB_HOPPER_H
#define PLUMB_HOPPER_H

#include "model/predict.h"

enum hopper_limit {
    HOPPER_MATH,
    HOPPER_ISSUE,
    HOPPER_ZEROS,
    HOPPER_L2,
    HOPPER_DRAM,
    HOPPER_SHARED, // these two: kernels whose threads load and multiply themselves, simt.h
    HOPPER_LATENCY,
    HOPPER_LIMITS
};

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
