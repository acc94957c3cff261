// SPDX-License-Identifier: Apache-2.0
//
// Seed 1's model of a warp-specialised kernel: DMA warps fill a circular buffer of `depth` stages
// in shared memory, and one MATH warp empties it.
//
// Start times in one wave, stages i = 1..S (seed 1, equations 1-3; a term with index < 1 is left
// out, A_1 = 0). One DMA warp loads A, then B of each stage:
//     A_i = max(B_{i-1} + T_B, M_{i-N} + T_M)
//     B_i = max(A_i + T_A, M_{i-N} + T_M)
//     M_i = max(B_i + T_B, M_{i-1} + T_M)
// two DMA warps load A and B side by side:
//     A_i = max(A_{i-1} + T_A, M_{i-N} + T_M)
//     B_i = max(B_{i-1} + T_B, M_{i-N} + T_M)
//     M_i = max(A_i + T_A, B_i + T_B, M_{i-1} + T_M)
// A wave takes M_S + T_M + T_E; MATH waits M_1 + sum of M_i - (M_{i-1} + T_M).
//
// Closed form. Let L be the time to load a stage, T_A + T_B or max(T_A, T_B). Every path from A_1
// to M_S moves S-1 stages ahead. A step along the loads costs L, a step along the maths T_M. A
// return through the buffer costs T_M + L per N stages, which for N >= 2 is no more than N max(L,
// T_M). So M_S = L + (S - 1) step with step = max(L, T_M), and step = L + T_M for N = 1. The
// waiting time is M_S - (S - 1) T_M. The tests compare it with the recurrences.
//
// All times are in one unit of the caller's choice.
#ifndef PLUMB_PIPELINE_H
#define PLUMB_PIPELINE_H

#include "model/buffer.h"
#include "model/problem.h"

struct pipeline {
    double load_a, load_b, math, epilogue; // T_A, T_B, T_M, T_E; >= 0
    int32_t depth;                         // N, stages the buffer holds, >= 1
    int32_t dma_warps;                     // 1 or 2
    int64_t stages;                        // S, >= 1
};

struct pipeline_time {
    double wave; // until the end of the epilogue
    double wait; // how long the MATH warp waits
};

struct pipeline_time pipeline_time(const struct pipeline *pipeline); // the closed form

// The simulator's result: the start of every event. The arrays hold `stages` times each.
struct pipeline_events {
    double *start_a, *start_b, *start_math;
    int64_t stages;
    double epilogue_start;
    struct pipeline_time time;
};

int pipeline_simulate(struct pipeline_events *out, const struct pipeline *pipeline,
                      struct error *err);

void pipeline_events_free(struct pipeline_events *events);

// The timeline of `waves` equal waves after `launch`: Chrome trace JSON (chrome://tracing,
// Perfetto; one row per warp, `unit_us` microseconds per time unit).
void pipeline_write_trace(struct buffer *out, const struct pipeline *pipeline,
                          const struct pipeline_events *events, double launch, int64_t waves,
                          double unit_us);

// A whole kernel: waves = ceil(tiles / SMs), each a wave of K / tile_k stages, after `launch`.
struct pipeline_kernel {
    int64_t tiles, waves;
    double time, wait;
};

struct pipeline_kernel pipeline_kernel(const struct pipeline *pipeline, int64_t tiles, int64_t sms,
                                       double launch);

// ==== the best pipeline ====
//
// The other uses that seed 1's document makes of the model in pipeline.h: parameters from measured
// transfers, and the exact best tiling for either of two goals, least time or least total waiting
// of all MATH warps.
//
// The search uses whole numbers only, as in the document, so that two solvers can agree exactly.
// Sizes are in squares of 32 x 32 elements ("blocks"), times in ticks of any length:
//     T_A = load_startup + load_block (tm tk), T_B = load_startup + load_block (tk tn),
//     T_M = math_startup + math_block (tm tn tk), T_E = epilogue_startup + epilogue_block (tm tn)
// with tm, tn, tk in units of 32. Tiles are multiples of 32 up to 1024 that divide the problem, and
// depth (tm tk + tk tn) blocks fit in shared memory. One loading warp takes A, then B; two take one
// each; more than two share the blocks of A and of B so that the longer load is as short as
// possible.
// Computing warps share the blocks of a stage, rounded up. (The document has one or two loading
// warps and one computing warp.)

// Computes startup latency and throughput from measured transfers (equations 4-5; 6-7 for MATH):
//     throughput = (bytes_2 - bytes_1) / (t_2 - t_1), startup = t_1 - bytes_1 / throughput,
// or the least-squares line if there are more than two points. Refuses points of one size, and
// points by which more data takes less time. A startup below zero is measurement noise and is
// returned as it is.
struct pipeline_rate {
    double startup, throughput;
};
struct pipeline_point {
    double bytes, time;
};
int pipeline_estimate(struct pipeline_rate *out, const struct pipeline_point *points, size_t count,
                      struct error *err);

struct pipeline_machine {
    int64_t launch; // in ticks, as are all but the last four
    int64_t load_startup, load_block;
    int64_t math_startup, math_block;
    int64_t epilogue_startup, epilogue_block;
    int64_t smem_blocks; // 32 x 32 input blocks that shared memory holds
    int32_t sms;
    int32_t depth_max;  // the deepest buffer, 1 to 8
    int32_t dma_warps;  // number of warps that load, 1 to 64
    int32_t math_warps; // number of warps that compute, 1 to 64
};

enum { PIPELINE_UNIT = 32, PIPELINE_TILE_MAX = 1024, PIPELINE_SIZE_MAX = 65536 };

enum pipeline_goal { PIPELINE_LEAST_TIME, PIPELINE_LEAST_WAIT };

struct pipeline_choice {
    int32_t tile_m, tile_n, tile_k, depth;
    int64_t time; // launch + waves (wave time)
    int64_t wait; // tiles (waiting time of one)
};

// Tries every tiling by the closed form. m, n, k: multiples of 32, up to 65536. Fails with a reason
// if sizes or costs are out of range or no tile fits in shared memory.
int pipeline_optimise(struct pipeline_choice *out, const struct pipeline_machine *machine,
                      const int64_t mnk[3], enum pipeline_goal goal, struct error *err);

// Does the same with Z3, independently of the closed form, if plumb was built with it. The optimum
// is the same; the tiling may be another one of equal value, at the deepest buffer that fits. K has
// an upper limit here. Fails when Z3 gives up within `timeout_ms`.
enum { PIPELINE_Z3_K_MAX = 1024 };
int pipeline_optimise_z3(struct pipeline_choice *out, const struct pipeline_machine *machine,
                         const int64_t mnk[3], enum pipeline_goal goal, unsigned timeout_ms,
                         struct error *err);

// The tilings that both optimisers search: those that divide the problem and fit into shared
// memory, each with its deepest buffer. The caller frees them.
struct pipeline_tilings {
    struct pipeline_choice *items;
    size_t count;
};
void pipeline_tilings(struct pipeline_tilings *out, const struct pipeline_machine *machine,
                      const int64_t mnk[3]);
void pipeline_tilings_free(struct pipeline_tilings *tilings);

// The pipeline of one tiling: its T_A, T_B, T_M and T_E in ticks.
void pipeline_of_choice(struct pipeline *out, const struct pipeline_machine *machine,
                        const struct pipeline_choice *choice, const int64_t mnk[3]);

// The checks with which both solvers begin, and the values of one tiling.
int pipeline_machine_check(const struct pipeline_machine *machine, const int64_t mnk[3],
                           struct error *err);
void pipeline_evaluate(struct pipeline_choice *choice, const struct pipeline_machine *machine,
                       const int64_t mnk[3]);

#endif
