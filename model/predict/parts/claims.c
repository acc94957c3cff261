// SPDX-License-Identifier: Apache-2.0
//
// The refusals of problems that a model does not know.
#include "model/predict/parts/claims.h"

const char *claims_refuse(const struct predict_input *in, int claims)
{
    const struct problem *p = in->problem;
    if (p->epilogue != EPILOGUE_NONE)
        return "the model knows plain products only, no epilogue";
    if (in->warm)
        return "the model knows cold operands only";
    if (in->scale_vector > 0 && !(claims & CLAIM_SCALES))
        return "this model does not know block scales";
    if (p->layout != LAYOUT_TN && !(p->layout == LAYOUT_NN && (claims & CLAIM_NN)))
        return "this model knows operands along K only (layout tn)";
    return NULL;
}
