// SPDX-License-Identifier: Apache-2.0
//
// DeepGEMM's cycle score for Hopper, a heuristic in production use that ranks tiles by the traffic
// they put on L2 and shared memory. It ranks only: tensor and DRAM time are left out as equal for
// all. Whole-number arithmetic and a float32 efficiency, as there.
// Source: deepseek-ai/DeepGEMM @54e2261, csrc/jit_kernels/heuristics/sm90.hpp (get_layout_info) and
// deep_gemm/include/deep_gemm/scheduler/gemm.cuh.
#ifndef PLUMB_MODEL_PREDICT_DEEPGEMM_H
#define PLUMB_MODEL_PREDICT_DEEPGEMM_H

#include "model/problem.h"

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
