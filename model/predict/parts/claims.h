// SPDX-License-Identifier: Apache-2.0
//
// What a model knows of a problem beside its size and types. One that does not know an epilogue, a
// layout or block scales says so: the plain product's time would be a wrong answer. None knows what
// is no GEMM.
#ifndef PLUMB_CLAIMS_H
#define PLUMB_CLAIMS_H

#include "model/predict.h"

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
