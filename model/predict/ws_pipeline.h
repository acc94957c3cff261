// SPDX-License-Identifier: Apache-2.0
//
// Seed 1's pipeline, with times taken from a profile instead of two measurements:
//     T_A, T_B  startup / (2 depth), because a deep buffer keeps that many loads in flight, and the
//               bytes at a rate: that of loads from L2 as `plumb calibrate` measures it (load_*),
//               or else DRAM's latency and one SM's share of its bandwidth
//     T_M       startup and tile_m tile_n tile_k multiply-adds at the tensor rate
//     T_E       startup and the tile's bytes, at the slower of an epilogue's rate into L2 and one
//               SM's share of the DRAM bandwidth
// The document fits these to one kernel. Taken from a profile they do not include partial waves.
#ifndef PLUMB_MODEL_PREDICT_WS_PIPELINE_H
#define PLUMB_MODEL_PREDICT_WS_PIPELINE_H

#include "model/predict.h"
#include "model/predict/parts/pipeline.h"

// Seed 1's pipeline for a kernel and a problem on a profile, for callers that need its events and
// not only the prediction. Times are in nanoseconds.

struct ws_pipeline {
    int32_t tile_m, tile_n, tile_k; // the values used, defaults included
    double clock_hz, launch_ns;
    struct pipeline pipeline;
    struct pipeline_kernel kernel;
};

// NULL, or a static text that says why there is no prediction; `out` is then untouched.
const char *ws_pipeline(struct ws_pipeline *out, const struct predict_input *input);

// ==== seed 0's model ====
//
// Seed 0's model of a warp-specialised persistent GEMM, with its per-wave breakdown.
// The kernel is a sequence of waves; in each, loading (DMA), multiplying (MATH) and storing the
// tile before (EPILOGUE) overlap, so a wave takes the longest of the three. A set-up cost and the
// first load stand before the waves, the last epilogue after them. With s blocks in a wave:
//     dma(s, K)   = s (bytes_a(K) / cluster_n + bytes_b(K) / cluster_m) (1 - l2_hit) / BW
//     bytes_a(K)  = cta_m K b_in + cta_m (K / sf_vec) b_sf          (fractional K / sf_vec is kept)
//     math        = 2 cta_m cta_n K / (clock flops_clk)
//     epilogue(s) = epilogue_min / clock + s cta_m cta_n b_out / BW
//     time        = overhead / clock + dma(s_1, 32 bytes of K) + sum of waves + epilogue(s_last)
// Source: seed 0; constants and operation order from hbarclay/gemm-model @0de20a8.

enum ws_limiter { WS_DMA, WS_MATH, WS_EPILOGUE };

const char *ws_limiter_name(enum ws_limiter limiter); // "DMA", "MATH", "EPILOG", as the seed prints

// One wave: `blocks` thread blocks, one per SM, at once.
struct ws_wave {
    int64_t blocks;
    double dma_ns, math_ns, epilogue_ns;
    enum ws_limiter limiter;
};

struct ws_breakdown {
    int32_t tile_m, tile_n, cluster_m, cluster_n; // the values used, defaults included
    int64_t tiles;                                // number of tiles, padded to whole clusters
    int64_t full_waves;
    struct ws_wave full, last; // last: the partial wave, or a full one when there is none
    bool partial;
    double overhead_ns, first_dma_ns, time_ns;
    double clock_hz;
    double clocked_ns; // the part of time_ns that is proportional to 1 / clock
};

// Uses the traits tile_m, tile_n (default 128 x 128), cluster_m and cluster_n (default 1 x 1).
// Returns NULL, or a static text that says why there is no prediction; `out` is then untouched.
const char *ws_persistent(struct ws_breakdown *out, const struct predict_input *input);

#endif
