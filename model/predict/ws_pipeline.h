// SPDX-License-Identifier: Apache-2.0
//
// Seed 1's pipeline with its times taken from a profile instead of two measurements:
//     T_A, T_B  startup / (2 depth), because a deep buffer keeps that many loads in flight, and
//               bytes at a rate: as `plumb calibrate` measures loads from L2 (load_*), or else the
//               DRAM's latency and one SM's share of its bandwidth
//     T_M       startup and tile_m tile_n tile_k multiply-adds at the tensor rate
//     T_E       startup and the tile's bytes, at the slower of an epilogue's rate into L2 and one
//               SM's share of the DRAM bandwidth
// The document fits these to one kernel; taken from a profile they know no partial waves.
#ifndef PLUMB_MODEL_PREDICT_WS_PIPELINE_H
#define PLUMB_MODEL_PREDICT_WS_PIPELINE_H

#include "model/predict.h"
#include "model/predict/parts/pipeline.h"

// Seed 1's pipeline of a kernel and problem on a profile, for those who want its events and not
// only the prediction. Times in nanoseconds.

struct ws_pipeline {
    int32_t tile_m, tile_n, tile_k; // as used, defaults filled in
    double clock_hz, launch_ns;
    struct pipeline pipeline;
    struct pipeline_kernel kernel;
};

// NULL, or a static text that says why there is no prediction; `out` is then untouched.
const char *ws_pipeline(struct ws_pipeline *out, const struct predict_input *input);

#endif
