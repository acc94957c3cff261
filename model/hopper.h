// SPDX-License-Identifier: Apache-2.0
//
// Our own model: a GEMM on Hopper (H100, H200; Blackwell by profile) as waves of thread blocks.
//
// A wave takes a soft maximum (power mean of exponent 5) of what one block needs of each resource:
//     math    2 tm tn K / flops_clk, rows padded to the instruction's 64, K to whole slabs
//     chain   slabs (own math of one warpgroup + 100 clocks): a warpgroup waits for its own
//             multiplication before it frees a slab, which only a second one can hide
//     shared  bytes copied in (x 0.8) and read by the instructions (x 0.4) at 128 bytes/clk
//     l2      bytes a block asks L2 for, each operand divided over the cluster, at 107 bytes/clk
//     dram    new bytes of the wave, and the stores of the one before, at the DRAM rate; or the
//             loads in flight per 0.61 us
// Around the waves stand the launch, the first loads, and per wave the part of the epilogue that
// does not overlap: 893 clocks when the tile leaves registers for a second one (at most 176 x 128),
// else 2216; the last tile's store is always exposed.
//
// New DRAM bytes: a wave touches a rectangle of the tile grid, as the raster and its group lay it;
// bytes of both operands that fit in 40 MB are read once, beyond that each wave reads its rectangle
// again. The effective capacity is that of H100 and H200, whose L2 is two halves.
//
// Where the constants are from: the form from public measurements of the parts (wgmma rates, TMA
// latency, L2 capacity), the numbers from a fit to 490 cold cuBLASLt and DeepGEMM times (21 shapes,
// TF32, BF16, FP8; H200, 2026-11-21), at the clock observed inside each kernel. None of this
// project's kernels took part. On those rows: MAPE 4.0 %, median 2.7 %, p90 9.3 %; fitted on half
// of the shapes and judged on the other half: median 4 %, p90 13 %.
#ifndef PLUMB_HOPPER_H
#define PLUMB_HOPPER_H

#include "model/predict.h"

enum hopper_limit {
    HOPPER_MATH,
    HOPPER_CHAIN,
    HOPPER_SHARED,
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
