// SPDX-License-Identifier: Apache-2.0
//
// What else seed 1's document does with the model of model/predict/parts/pipeline.h, and no command
// of plumb does: parameters from two measured transfers, and the best tiling, found exactly, for
// either of the document's two goals, least time or least total waiting of all MATH warps.
//
// Of the search:
// Everything is a whole number, as in the document, so that two solvers can agree to the last unit.
// Sizes are in squares of 32 x 32 elements ("blocks"), times in ticks of any length:
//     T_A = load_startup + load_block (tm tk), T_B = load_startup + load_block (tk tn),
//     T_M = math_startup + math_block (tm tn tk), T_E = epilogue_startup + epilogue_block (tm tn)
// with tm, tn, tk in units of 32. Tiles are multiples of 32 up to 1024 that divide the problem, and
// depth (tm tk + tk tn) blocks fit in shared memory.
#ifndef PLUMB_TESTS_HELPER_PIPELINE_H
#define PLUMB_TESTS_HELPER_PIPELINE_H

#include "model/predict/parts/pipeline.h"

// Startup latency and throughput from two measured transfers (equations 4-5; 6-7 for MATH):
//     throughput = (bytes_2 - bytes_1) / (t_2 - t_1), startup = t_1 - bytes_1 / throughput.
// Refuses two points that are equal or say that more takes less time; a startup below zero is
// measurement noise and is returned as it is.
struct pipeline_rate {
    double startup, throughput;
};
int pipeline_estimate(struct pipeline_rate *out, double bytes_1, double time_1, double bytes_2,
                      double time_2, struct error *err);
double pipeline_duration(const struct pipeline_rate *rate, double bytes);

struct pipeline_machine {
    int64_t launch; // ticks, as are all but the last four
    int64_t load_startup, load_block;
    int64_t math_startup, math_block;
    int64_t epilogue_startup, epilogue_block;
    int64_t smem_blocks; // 32 x 32 input blocks that shared memory holds
    int32_t sms;
    int32_t depth_max; // deepest buffer, 1 to 8
    int32_t dma_warps; // 1 or 2
};

enum { PIPELINE_UNIT = 32, PIPELINE_TILE_MAX = 1024, PIPELINE_SIZE_MAX = 65536 };
enum { PIPELINE_TICKS_MAX = 100000 }; // the largest cost; totals then stay below 2^63

enum pipeline_goal { PIPELINE_LEAST_TIME, PIPELINE_LEAST_WAIT };

struct pipeline_choice {
    int32_t tile_m, tile_n, tile_k, depth;
    int64_t time; // launch + waves (wave time)
    int64_t wait; // tiles (waiting time of one)
};

// Tries every tiling by the closed form. m, n, k: multiples of 32, up to 65536. Fails, saying why,
// on sizes or costs out of range or when no tile fits in shared memory.
int pipeline_optimise(struct pipeline_choice *out, const struct pipeline_machine *machine,
                      const int64_t mnk[3], enum pipeline_goal goal, struct error *err);

// The checks both solvers begin with, and the values of one tiling.
int pipeline_machine_check(const struct pipeline_machine *machine, const int64_t mnk[3],
                           struct error *err);
void pipeline_evaluate(struct pipeline_choice *choice, const struct pipeline_machine *machine,
                       const int64_t mnk[3]);

#ifdef PLUMB_HAVE_Z3
// The same question put to Z3: the recurrences unrolled over stages, tiling and depth as unknowns,
// the goal as its objective. Sizes up to 1024. The optimum is equal; the tiling may be another of
// equal value. Fails when Z3 gives up within `timeout_ms`.
int pipeline_optimise_z3(struct pipeline_choice *out, const struct pipeline_machine *machine,
                         const int64_t mnk[3], enum pipeline_goal goal, unsigned timeout_ms,
                         struct error *err);
#endif

#endif
