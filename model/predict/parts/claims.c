// SPDX-License-Identifier: Apache-2.0
//
// The refusal of a problem with features that a model does not support.
#include "model/predict.h"

const char *claims_refuse(const struct predict_input *in, int claims)
{
    const struct problem *p = in->problem;
    if (p->number_count)
        return "no model: the problem is no GEMM";
    if (p->epilogue != EPILOGUE_NONE && !(claims & CLAIM_EPILOGUES))
        return "the model knows plain products only, no epilogue";
    bool warm = in->warm || p->regime == REGIME_WARM || p->regime == REGIME_ACTIVATIONS;
    if (warm && !(claims & CLAIM_WARM))
        return "the model knows cold operands only";
    if (p->scales.vector > 0 && !(claims & CLAIM_SCALES))
        return "this model does not know block scales";
    if (p->groups.kind && !(claims & CLAIM_GROUPS))
        return "this model does not know groups";
    if (p->beta != 0 && !(claims & CLAIM_BETA))
        return "this model does not know a C that is read (beta)";
    if (p->layout != LAYOUT_TN && !(claims & CLAIM_LAYOUTS) &&
        !(p->layout == LAYOUT_NN && (claims & CLAIM_NN)))
        return "this model knows operands along K only (layout tn)";
    return NULL;
}
