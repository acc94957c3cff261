// SPDX-License-Identifier: Apache-2.0
//
// Models: one file each in predict/, registered by its name. A model is a pure function of the
// profile, the traits, the problem and (optionally) the observed clock. It allocates nothing, never
// returns NaN, and takes at most a microsecond if it has a closed form.
#ifndef PLUMB_PREDICT_H
#define PLUMB_PREDICT_H

#include "model/result.h"

struct predict_input {
    const struct gpu *gpu;
    const struct traits *traits; // a field that is zero takes the model's default
    const struct problem *problem;
    double clock_hz;    // the observed clock; 0: the profile's (or the model's power-limited one)
    double l2_hit_rate; // a parameter of seed 0's model, 0..1
    bool warm;          // the same launch came just before, so L2 holds as much as fits; else L2 is
                        // cold
    bool early;         // in a stream, a launch begins before the previous one has ended
                        // (programmatic launch)
    uint32_t launches_together; // how many launches one sample timed back to back; 0, 1: each
                                // launch had its own events
};

struct model {
    const char *name;    // "ws-persistent"
    const char *version; // raised whenever its predictions change
    const char *why;     // one line: what it takes into account that others do not
    // Predicts. A model that does not support an epilogue, a layout or block scales says so
    // (claims_refuse()).
    struct prediction (*predict)(const struct predict_input *input);
    bool knows_regimes; // it predicts other regimes than cold launches, too
    bool has_bands;     // it says how far measured times are from its predictions
};

extern const struct model *const models[];
extern const size_t model_count;
const struct model *model_find(const char *name); // NULL: not known; case, '-' and '_' are ignored

// ==== what a model supports ====
//
// Features of a problem beside its size and types that a model supports. For an epilogue, a layout
// or block scales that it does not support, it says so, because the time of the plain product would
// be a wrong answer. No model supports kernels that are no GEMM.

enum claim {
    CLAIM_PLAIN = 0,
    CLAIM_SCALES = 1,
    CLAIM_NN = 2,
    CLAIM_LAYOUTS = 4, // all layouts
    CLAIM_EPILOGUES = 8,
    CLAIM_GROUPS = 16,
    CLAIM_BETA = 32,
    CLAIM_WARM = 64,
    CLAIM_GEMM = 127 // everything that is a GEMM
};

// Returns NULL, or a static text that says why a model with these claims (of enum claim; K-major
// operands are always supported) cannot predict this input. Leading dimensions and alpha do not
// change any model's time.
const char *claims_refuse(const struct predict_input *input, int claims);

#endif
