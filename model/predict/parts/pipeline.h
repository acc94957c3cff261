// SPDX-License-Identifier: Apache-2.0
//
// Seed 1's model of a warp-specialised kernel: DMA warps fill a circular buffer of `depth` stages
// in shared memory, one MATH warp empties it.
//
// Start times in one wave, stages i = 1..S (seed 1, equations 1-3; a term with index < 1 is left
// out, A_1 = 0). One DMA warp loads A then B of each stage:
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
// to M_S moves S-1 stages ahead; a step along the loads costs L, along the maths T_M, and a return
// through the buffer costs T_M + L per N stages, which for N >= 2 is no more than N max(L, T_M).
// So M_S = L + (S - 1) step with step = max(L, T_M), and for N = 1 step = L + T_M; the waiting time
// is M_S - (S - 1) T_M. The tests hold it against the recurrences.
//
// Time units are the caller's, the same for all.

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
    double wave; // to the end of the epilogue
    double wait; // of the MATH warp
};

struct pipeline_time pipeline_time(const struct pipeline *pipeline); // the closed form

// The simulator's result: every event's start. The arrays hold `stages` times each.
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
// Perfetto; one row per warp, `unit_us` microseconds per time unit), or a self-contained SVG of one
// wave.
void pipeline_write_trace(struct buffer *out, const struct pipeline *pipeline,
                          const struct pipeline_events *events, double launch, int64_t waves,
                          double unit_us);

void pipeline_write_svg(struct buffer *out, const struct pipeline *pipeline,
                        const struct pipeline_events *events, const char *unit);

// A whole kernel: waves = ceil(tiles / SMs), each a wave of K / tile_k stages, after `launch`.
struct pipeline_kernel {
    int64_t tiles, waves;
    double time, wait;
};

struct pipeline_kernel pipeline_kernel(const struct pipeline *pipeline, int64_t tiles, int64_t sms,
                                       double launch);

#endif
