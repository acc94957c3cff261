// SPDX-License-Identifier: Apache-2.0
//
// Seed 1's pipeline of a kernel and problem on a profile, for those who want its events and not
// only the prediction. Times in nanoseconds.
#ifndef PLUMB_WS_PIPELINE_H
#define PLUMB_WS_PIPELINE_H

#include "model/predict.h"
#include "model/predict/parts/pipeline.h"

struct ws_pipeline {
    int32_t tile_m, tile_n, tile_k; // as used, defaults filled in
    double clock_hz, launch_ns;
    struct pipeline pipeline;
    struct pipeline_kernel kernel;
};

// NULL, or a static text that says why there is no prediction; `out` is then untouched.
const char *ws_pipeline(struct ws_pipeline *out, const struct predict_input *input);

#endif
