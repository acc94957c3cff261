// SPDX-License-Identifier: Apache-2.0
//
// Which configuration a model would choose: every candidate is predicted, the fastest wins. Two
// that rank in their own way, Origami and DeepGEMM, are below.
#ifndef PLUMB_SELECT_H
#define PLUMB_SELECT_H

#include "model/predict.h"
#include "model/problem.h"

// ==== Origami ====
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

// ==== select ====

struct selection {
    struct traits traits;      // tile, stages, cluster, threads, raster_group, split_k
    double time_ns, launch_ns; // launch_ns: of it, where the model tells
    int32_t tried, valid;
    enum bound bound;
};

// Origami selects in its own two phases, as wide as `search` says; the other models ignore it and
// choose among what libraries are built with (below). Ties go to the first candidate.
// Returns NULL, or a static text that says why nothing could be chosen.
// The `most` best, best first, `*count` of them. `in` has no traits: they are what is chosen.
const char *select_best(struct selection *out, size_t *count, size_t most,
                        const struct model *model, const struct predict_input *in,
                        const struct origami_search *search);

// ==== configurations to choose from ====
//
// The configurations that a library has to choose from: what select_best() searches, and what a
// kernel that says nothing of its tile is taken to be the best of.

struct candidate_set {
    const struct candidate_choice *items;
    size_t count;
    bool threads_load;      // no bulk copies: threads load for themselves
    enum multiply multiply; // by which instruction; MULTIPLY_UNKNOWN: by the GPU's own
};
// Those for this problem, the same for every size of it.
struct candidate_set candidates_of(const struct gpu *gpu, const struct problem *problem);
// Those that multiply by mma.sync, on GPUs that have wgmma too.
struct candidate_set candidates_mma(void);
// The index-th; false when this profile has no room for it.
bool candidate(struct traits *out, const struct candidate_set *all, const struct gpu *gpu,
               const struct problem *problem, size_t index);

// ==== DeepGEMM's score ====
//
// DeepGEMM's cycle score for Hopper, a heuristic in production use that ranks tiles by the traffic
// they put on L2 and shared memory. It ranks only: tensor and DRAM time are left out as equal for
// all. Whole-number arithmetic and a float32 efficiency, as there.
// Source: deepseek-ai/DeepGEMM @54e2261, csrc/jit_kernels/heuristics/sm90.hpp (get_layout_info) and
// deep_gemm/include/deep_gemm/scheduler/gemm.cuh.

struct deepgemm_layout {
    int32_t block_m, block_n, cluster_m, cluster_n;
    int32_t stages; // 0: not known, then not checked
};

struct deepgemm_score {
    int64_t blocks, waves, last_wave;
    int64_t l2_bytes_clk, l1_bytes_clk;
    int64_t l2_ab, l1_ab, l1_tc, cd; // bytes of one block
    int64_t l2_cycles, l1_cycles;
    float wave_efficiency;
    int64_t cycles; // the score; less is better
};

// NULL, or a static text that says why the layout is none of DeepGEMM's. `accumulate`: C is read
// too. Element sizes are bytes.
const char *deepgemm_score(struct deepgemm_score *out, const struct problem *problem,
                           const struct deepgemm_layout *layout, bool accumulate, int32_t sms);

// Blocks walked together, 8 or 16, by the operand rows and columns that one wave touches.
struct deepgemm_group {
    int64_t usage;
    int32_t blocks;
};

struct deepgemm_group deepgemm_group(int32_t block_m, int32_t block_n, int32_t sms,
                                     bool multicast_on_a);

#endif
