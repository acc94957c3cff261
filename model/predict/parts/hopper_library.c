// SPDX-License-Identifier: Apache-2.0
//
// Kernels that leave their configuration to a library, which chooses one for each problem: the
// model takes the fastest of those it may choose. All of them grow with the problem, so their least
// does.
#include "model/predict/parts/hopper_terms.h"

#include "model/predict/parts/candidates.h"
#include "model/predict/parts/simt.h"

// Keeps the faster of *out and what a kernel of these traits takes; *found: *out is one.
static const char *consider(struct hopper_breakdown *out, bool *found,
                            const struct predict_input *in, const struct traits *traits,
                            bool library)
{
    struct hopper_breakdown one;
    struct predict_input with = *in;
    with.traits = traits;
    const char *why = hopper_one(&one, &with, library);
    if (!why && (!*found || one.time_ns < out->time_ns))
        *out = one, *found = true;
    return why;
}

const char *hopper_library(struct hopper_breakdown *out, const struct predict_input *in)
{
    const char *why = "no candidate fits";
    bool found = false;
    for (size_t i = 0; i < candidate_count(in->gpu, in->problem); i++) {
        struct traits traits;
        if (!candidate(&traits, in->gpu, in->problem, i))
            continue;
        traits = candidate_overlaid(in->traits, &traits);
        const char *refused = consider(out, &found, in, &traits, false);
        if (refused && !found)
            why = refused;
    }
    // Of cuBLASLt's times in ladder/fit.*; where rows are uneven it is often far slower.
    if (found && !simt_applies(in))
        out->band = out->even ? 0.13 : 0.25;
    return found ? NULL : why;
}

// cuBLASLt 13.1 with block scales notes one configuration for every problem: 128x128 tiles, with K
// whole or in two parts (baselines/recorded/h200/accuracy/cublaslt_scaled.notes.txt). Whole, it is
// met only if it is taken for persistent. library_scale and library_end are what its sums and tile
// ends take beside those of this project's kernels.
bool hopper_may_halve(const struct traits *t, const struct problem *p)
{
    return p->scales.vector > 0 && t->promote_k > 0 && t->split_k == 0;
}

const char *hopper_halves(struct hopper_breakdown *out, const struct predict_input *in)
{
    struct traits whole = *in->traits, halves = whole;
    bool found = false;
    whole.split_k = whole.persistent = 1;
    halves.split_k = 2;
    halves.persistent = 0;
    const char *why = consider(out, &found, in, &whole, true);
    consider(out, &found, in, &halves, true);
    if (found) // of cuBLASLt's times in ladder/scaled-fit, as band_of() has it
        out->band = 0.075;
    return found ? NULL : why;
}
