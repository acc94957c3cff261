// SPDX-License-Identifier: Apache-2.0
//
// Origami on NVIDIA (seed 3): the latency of one tile configuration in SM clocks, and the choice of
// a configuration among all of them in two phases, without running any.
// Formulas: seed 3, sections 3.1-3.7 (Algorithms 3-9). Where that text leaves a choice open, the
// choice is the one that reproduces its worked example and its 23 published selections: the mma
// latency is divided as a real number, the super-group is clamped to the grid after wrap-around,
// and tied latencies go to the higher arithmetic intensity, then to the first enumerated.
// What the document asks for as next steps is here too, off unless asked for: a register-pressure
// filter, stages and warps as search dimensions, and split-K. At 2 stages, 8 warps and no split
// every formula is the document's. What a profile does not know of the document's five parameters
// is derived (its section 4.1, the lowest tier), approximately, from the RTX 4090's.
#ifndef PLUMB_MODEL_PREDICT_ORIGAMI_H
#define PLUMB_MODEL_PREDICT_ORIGAMI_H

#include "model/predict.h"

struct origami_config {
    int32_t tile_m, tile_n, tile_k;
    int32_t group;  // GROUP_SIZE_M: tile rows walked together; 0 = ceil(sqrt(SMs))
    int32_t stages; // 0 = 2
    int32_t warps;  // 0 = 8
    int32_t split;  // K is cut into this many pieces; 0 = 1
};

// Every intermediate of the document, under its name there; latencies in SM clocks.
struct origami_latency {
    double n_mma, compute;
    int64_t grid_m, grid_n, active, waves, iterations;
    int64_t l2_tile_m, l2_tile_n;
    double l2_hit, uncached_bytes, working_set;
    double load_a, load_b, total_load, l2, load_dram, dram, mem;
    double utilization, prologue, epilogue, k_pad, steady;
    double total;
};

// NULL, or a static text that says why there is no latency; `out` is then untouched. `clock_hz`
// turns DRAM's bytes per second into bytes per clock; 0: the profile's clock.
const char *origami_latency(struct origami_latency *out, const struct gpu *gpu,
                            const struct problem *problem, const struct origami_config *config,
                            double clock_hz);

// A lower bound of the 32-bit registers one thread needs: accumulators, the operand fragments of
// one multiply step and 24 for addresses and loop state. Above 255 the kernel spills.
int32_t origami_registers(const struct origami_config *config, enum dtype in);

enum { ORIGAMI_REGISTERS_MAX = 255 };

// Phase 2's cost: rows and columns of operands that the first wave, at most all tiles, touches
// under `group`.
int64_t origami_group_cost(int64_t grid_m, int64_t grid_n, int64_t blocks, int32_t group,
                           int32_t tile_m, int32_t tile_n);

struct origami_search {
    bool registers; // leave out configurations that spill, or that no SM has registers for
    bool pipeline;  // try 1-5 stages and 2-16 warps, not only 2 and 8
    bool split_k;   // try splits of K
};

struct origami_selection {
    struct origami_config config;
    struct origami_latency latency; // under the default group, as phase 1 scored it
    int64_t group_cost;
    int32_t tried, valid; // configurations enumerated, and those that fit
};

// Both phases: the `most` best by phase 1, best first, each under the group that phase 2 gives it;
// *count of them. `tried` and `valid` are of all. Returns NULL or why nothing could be selected.
// Allocates nothing.
const char *origami_rank(struct origami_selection *out, size_t *count, size_t most,
                         const struct gpu *gpu, const struct problem *problem,
                         const struct origami_search *search);

#endif
