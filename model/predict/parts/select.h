// SPDX-License-Identifier: Apache-2.0
//
// The configuration that a model would choose: every candidate is predicted, and the fastest is
// taken. Two models with rankings of their own, Origami and DeepGEMM, are below.
#ifndef PLUMB_SELECT_H
#define PLUMB_SELECT_H

#include "model/predict.h"
#include "model/problem.h"

// ==== Origami ====
//
// Origami on NVIDIA (seed 3): predicts the latency of one tile configuration in SM clocks, and
// selects a configuration in two phases, without running any.
// Formulas: seed 3, sections 3.1-3.7 (Algorithms 3-9). Where that text allows several readings, the
// one is used that reproduces its worked example and its 23 published selections: the mma latency
// is divided as a real number, the super-group is clamped to the grid after wrap-around, and tied
// latencies go to the higher arithmetic intensity, then to the first enumerated.
// What the document lists as next steps is here, too, and off by default: a register-pressure
// filter, stages and warps as search dimensions, and split-K. With 2 stages, 8 warps and no split
// every formula is the document's. Parameters of the document (there are five) that a profile lacks
// are derived approximately (its section 4.1, the lowest tier) from the RTX 4090's.

struct origami_config {
    int32_t tile_m, tile_n, tile_k;
    int32_t group;  // GROUP_SIZE_M: rows of tiles that are visited together; 0 = ceil(sqrt(SMs))
    int32_t stages; // 0 = 2
    int32_t warps;  // 0 = 8
    int32_t split;  // number of pieces that K is cut into; 0 = 1
};

// Every intermediate value of the document under its name there; latencies in SM clocks.
struct origami_latency {
    double n_mma, compute;
    int64_t grid_m, grid_n, active, waves, iterations;
    int64_t l2_tile_m, l2_tile_n;
    double l2_hit, uncached_bytes, working_set;
    double load_a, load_b, total_load, l2, load_dram, dram, mem;
    double utilization, prologue, epilogue, k_pad, steady;
    double total;
};

// Returns NULL, or a static text that says why there is no latency; `out` is then untouched.
// `clock_hz` converts DRAM's bytes per second into bytes per clock; 0: the profile's clock.
const char *origami_latency(struct origami_latency *out, const struct gpu *gpu,
                            const struct problem *problem, const struct origami_config *config,
                            double clock_hz);

// A lower bound of the number of 32-bit registers that one thread needs: accumulators, the operand
// fragments of one multiply step, and 24 for addresses and loop state. Above 255 the kernel spills.
int32_t origami_registers(const struct origami_config *config, enum dtype in);

enum { ORIGAMI_REGISTERS_MAX = 255 };

// Phase 2's cost: the rows and columns of operands that the first wave (or all tiles, if fewer)
// touches with this `group`.
int64_t origami_group_cost(int64_t grid_m, int64_t grid_n, int64_t blocks, int32_t group,
                           int32_t tile_m, int32_t tile_n);

struct origami_search {
    bool registers; // leave out configurations that spill, or that no SM has registers for
    bool pipeline;  // try 1-5 stages and 2-16 warps, not only 2 and 8
    bool split_k;   // try splits of K
};

struct origami_selection {
    struct origami_config config;
    struct origami_latency latency; // with the default group, as phase 1 scored it
    int64_t group_cost;
    int32_t tried, valid; // number of configurations enumerated, and of those that fit
};

// Runs both phases: the `most` best configurations of phase 1, best first, each with the group that
// phase 2 gives it; *count is their number. `tried` and `valid` count all configurations. Returns
// NULL, or why nothing could be selected. Allocates nothing.
const char *origami_rank(struct origami_selection *out, size_t *count, size_t most,
                         const struct gpu *gpu, const struct problem *problem,
                         const struct origami_search *search);

// ==== selecting ====

struct selection {
    struct traits traits;      // tile, stages, cluster, threads, raster_group, split_k
    double time_ns, launch_ns; // launch_ns: the part of it for the launch, if the model tells
    int32_t tried, valid;
    enum bound bound;
};

// Selects the `most` best configurations, best first; *count is their number. Origami selects in
// its own two phases, as wide as `search` says. The other models ignore `search` and choose among
// the configurations that libraries are built with (below). Ties go to the first candidate. Returns
// NULL, or a static text that says why nothing could be chosen. `in` has no traits, because they
// are what is chosen.
const char *select_best(struct selection *out, size_t *count, size_t most,
                        const struct model *model, const struct predict_input *in,
                        const struct origami_search *search);

// ==== configurations to choose from ====
//
// The configurations that a library has. select_best() searches them. A kernel that does not state
// its tile is predicted as the best of them.

struct candidate_set {
    const struct candidate_choice *items;
    size_t count;
    bool threads_load;      // threads load operands themselves, without bulk copies
    enum multiply multiply; // the instruction; MULTIPLY_UNKNOWN: the GPU's usual one
};
// The candidates for this problem; they are the same for every size.
struct candidate_set candidates_of(const struct gpu *gpu, const struct problem *problem);
// The candidates that multiply by mma.sync, on GPUs that have wgmma, too.
struct candidate_set candidates_mma(void);
// Returns the candidate with this index; false if it does not fit this profile.
bool candidate(struct traits *out, const struct candidate_set *all, const struct gpu *gpu,
               const struct problem *problem, size_t index);

// ==== DeepGEMM's score ====
//
// DeepGEMM's cycle score for Hopper, a heuristic in production use that ranks tiles by their
// traffic on L2 and shared memory. It only ranks: tensor and DRAM time are left out because they
// are equal for all. Like the original it uses whole numbers and a float32 efficiency.
// Source: deepseek-ai/DeepGEMM @54e2261, csrc/jit_kernels/heuristics/sm90.hpp (get_layout_info) and
// deep_gemm/include/deep_gemm/scheduler/gemm.cuh.

struct deepgemm_layout {
    int32_t block_m, block_n, cluster_m, cluster_n;
    int32_t stages; // 0: not known and not checked
};

struct deepgemm_score {
    int64_t blocks, waves, last_wave;
    int64_t l2_bytes_clk, l1_bytes_clk;
    int64_t l2_ab, l1_ab, l1_tc, cd; // bytes that one block moves
    int64_t l2_cycles, l1_cycles;
    float wave_efficiency;
    int64_t cycles; // the score; lower is better
};

// Returns NULL, or a static text that says why DeepGEMM has no such layout. `accumulate`: C is
// read, too. Element sizes are in bytes.
const char *deepgemm_score(struct deepgemm_score *out, const struct problem *problem,
                           const struct deepgemm_layout *layout, bool accumulate, int32_t sms);

// The number of blocks visited together, 8 or 16, and the operand rows and columns that one wave
// touches.
struct deepgemm_group {
    int64_t usage;
    int32_t blocks;
};

struct deepgemm_group deepgemm_group(int32_t block_m, int32_t block_n, int32_t sms,
                                     bool multicast_on_a);

#endif
