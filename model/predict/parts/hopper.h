// SPDX-License-Identifier: Apache-2.0
//
// Our own model: a GEMM on Hopper (H100, H200) as turns of thread blocks on each SM, beside what
// the whole chip moves. What follows is of kernels whose operands come by bulk copies and are
// multiplied by wgmma; what a block of the others takes (FP32 without tensor cores, mma.sync)
// stands in simt.h.
//
// A block takes, per slab of K, a soft maximum (power mean) of
//     math     2 tm tn tk / flops_clk, rows padded to the instruction's 64
//     issue    the same with each instruction of 64 x N x 32 bytes at least 57 clocks long when no
//              other warpgroup multiplies beside it, and FP8 sums promoted, or scaled by blocks, in
//              between; of two products whose instructions are apart, neither waits alone
//     decode   of E2M1, which is multiplied in FP16: 837 clocks per 128 of K, 177 more for each
//              warpgroup beyond two, and 0.76 of math; in place of issue
//     port     the bytes that come into the SM, at 94 a clock
//     latency  1.1 us of a load from memory, over the slabs in flight
// The busiest SM takes its blocks in turns, `blocks_per_sm` at a time; blocks at one time share
// math, issue and port. The whole chip takes
//     l2       the bytes that all blocks ask of L2, each operand divided over the cluster; what
//              neighbours in the raster ask for together counts 0.58. Rows that do not begin with
//              a line of L2 cost 1.17, 1.26 or 2.01 times as much (64, 32 or fewer bytes); with
//              more operands than L2's nearer half keeps, a fifth more. L2 has a clock of its own.
//     dram     operands once, beyond what L2 keeps once per band of the raster and turn, and C
// and the main loop is the soft maximum of the three. Around it stand the launch, the first loads
// (clusters start 0.9 us later), per turn what of a tile's end does not overlap (per output of a
// warpgroup; more for 4-byte outputs, swapped operands, rows that are no multiple of 16 bytes, and
// adding up a split of K; four times as much for two products, one of which is taken by the other's
// silu; less where blocks share an SM), 4400 clocks before a block's successor multiplies in grids
// that are not persistent, and the last tile's store.
//
// A prediction never falls when m, n or k grows by whole tiles, and never lies below the roofline
// at the same clock: each of the terms above grows with all three, and every way of combining them
// keeps that. This is why stream-K is simpler here than it is: fewer tiles never cost more, though
// a few tiles beyond a whole wave do on a device.
//
// Where the constants are from: hopper_constants.h.
#ifndef PLUMB_HOPPER_H
#define PLUMB_HOPPER_H

#include "model/predict.h"

enum hopper_limit {
    HOPPER_MATH,
    HOPPER_ISSUE,
    HOPPER_PORT,
    HOPPER_LATENCY,
    HOPPER_L2,
    HOPPER_DRAM,
    HOPPER_SHARED, // kernels whose threads load and multiply themselves, simt.h
    HOPPER_LIMITS
};

// Times in nanoseconds.
struct hopper_breakdown {
    int32_t tile_m, tile_n, tile_k, stages, blocks_per_sm; // as used
    int64_t blocks, resident;                              // to run, and at once
    double turns;                                          // that the busiest SM takes at blocks
    double l2_bytes, dram_bytes;                           // of operands asked of L2; all from DRAM
    double limits_ns[HOPPER_LIMITS];                       // of the whole kernel, each by itself
    enum hopper_limit limit;                               // the largest
    double launch_ns, fill_ns, main_ns, overhead_ns, store_ns, split_ns;
    double transpose_ns; // operands that the instruction cannot read as they lie
    double time_ns, clock_hz;
    double clocked_ns; // what of time_ns goes with 1 / clock
    double band;       // one sigma of log(measured / predicted) for kernels without a bias
    bool even;         // rows of operands and of C begin where L2 and bulk stores like them
};

// NULL, or a static text: "infeasible" reasons (registers, shared memory, cluster, profile).
// A kernel that states no tile is taken for a library's: the best of select.h's candidates. One
// that scales sums by blocks and states its tile, but not split_k, is the faster of K whole and in
// two.
const char *hopper(struct hopper_breakdown *out, const struct predict_input *input);

// The SM clock that the power limit leaves a kernel that multiplies for `math_ns` on the tensor
// cores: it droops within 20 us of multiplying, then falls towards cap_clock of the type within
// half a millisecond. More work never raises it.
double hopper_clock_hz(const struct gpu *gpu, enum dtype in, double math_ns);

#endif
