// SPDX-License-Identifier: Apache-2.0
//
// Models: one file each in predict/, registered by its name. A model is a pure function of profile,
// traits, problem and (optionally) the clock that was observed; it allocates nothing, never returns
// NaN, and takes at most a microsecond for closed forms.
#ifndef PLUMB_PREDICT_H
#define PLUMB_PREDICT_H

#include "model/result.h"

struct predict_input {
    const struct gpu *gpu;
    const struct traits *traits; // zero fields: the model's own default
    const struct problem *problem;
    double clock_hz;    // observed clock; 0: the profile's (or the model's power-limited one)
    double l2_hit_rate; // seed 0's knob, 0..1
    bool warm;          // the same launch came just before: L2 holds what it can; else cold
    bool early;         // in a stream a launch begins under the one before (programmatic launch)
    uint32_t launches_together; // that one sample timed back to back; 0, 1: each had its own events
};

struct model {
    const char *name;    // "ws-persistent"
    const char *version; // raised whenever its numbers change
    const char *why;     // one line: what it knows that others do not
    // A model that does not know an epilogue, a layout or block scales says so (claims_refuse()).
    struct prediction (*predict)(const struct predict_input *input);
    bool knows_regimes; // its times are not those of cold launches alone
};

extern const struct model *const models[];
extern const size_t model_count;
const struct model *model_find(const char *name); // NULL if unknown; case, '-' and '_' do not count

// ==== what a model knows ====
//
// What a model knows of a problem beside its size and types. One that does not know an epilogue, a
// layout or block scales says so: the plain product's time would be a wrong answer. None knows what
// is no GEMM.

enum claim {
    CLAIM_PLAIN = 0,
    CLAIM_SCALES = 1,
    CLAIM_NN = 2,
    CLAIM_LAYOUTS = 4, // all of them
    CLAIM_EPILOGUES = 8,
    CLAIM_GROUPS = 16,
    CLAIM_BETA = 32,
    CLAIM_WARM = 64,
    CLAIM_GEMM = 127 // whatever is one
};

// NULL, or why a model that claims only these (of enum claim; K-major operands always) cannot
// predict this input: a static text. Leading dimensions and alpha cost nothing by any model.
const char *claims_refuse(const struct predict_input *input, int claims);

#endif
