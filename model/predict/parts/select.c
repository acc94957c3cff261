// SPDX-License-Identifier: Apache-2.0
//
// The best of the candidates by a model's prediction; Origami in its own two phases.
#include "model/predict/parts/select.h"

#include "model/predict/parts/candidates.h"

#include <string.h>

// Keeps the best `most` of what was found so far, best first; ties go to the earlier candidate.
static void keep(struct selection *best, size_t *kept, size_t most, const struct selection *found)
{
    size_t at = *kept;
    while (at > 0 && found->time_ns < best[at - 1].time_ns)
        at--;
    if (at >= most)
        return;
    size_t last = *kept < most ? *kept : most - 1;
    memmove(&best[at + 1], &best[at], (last - at) * sizeof(*best));
    best[at] = *found;
    *kept = last + 1;
}

static const char *by_prediction(struct selection *out, size_t *kept, size_t most,
                                 const struct model *model, const struct gpu *gpu,
                                 const struct problem *p, double clock_hz)
{
    const char *why = "no candidate fits";
    int32_t tried = 0, valid = 0;
    for (size_t i = 0; i < candidate_count(gpu, p); i++) {
        struct selection found = {0};
        if (!candidate(&found.traits, gpu, p, i))
            continue;
        const struct predict_input in = {
            .gpu = gpu, .traits = &found.traits, .problem = p, .clock_hz = clock_hz};
        struct prediction prediction = model->predict(&in);
        tried++;
        if (!prediction.feasible) {
            why = prediction.why;
            continue;
        }
        valid++;
        found.time_ns = prediction.time_ns;
        found.bound = prediction.bound;
        keep(out, kept, most, &found);
    }
    for (size_t i = 0; i < *kept; i++) {
        out[i].tried = tried;
        out[i].valid = valid;
    }
    return valid ? NULL : why;
}

static const char *by_origami(struct selection *out, const struct model *model,
                              const struct gpu *gpu, const struct problem *p, double clock_hz,
                              const struct origami_search *search)
{
    struct origami_selection s;
    const char *why = origami_select(&s, gpu, p, search);
    if (why)
        return why;
    struct selection out_selection = {.tried = s.tried, .valid = s.valid};
    struct traits *t = &out_selection.traits;
    *t = (struct traits){.in = p->in, .out = p->out, .acc = DTYPE_FP32};
    t->tile_m = s.config.tile_m;
    t->tile_n = s.config.tile_n;
    t->tile_k = s.config.tile_k;
    t->stages = s.config.stages;
    t->threads = s.config.warps * 32;
    t->split_k = s.config.split;
    t->raster_group = s.config.group;
    struct traits scored = *t;
    scored.raster_group = 0; // phase 1's default group
    const struct predict_input in = {
        .gpu = gpu, .traits = &scored, .problem = p, .clock_hz = clock_hz};
    struct prediction prediction = model->predict(&in);
    out_selection.time_ns = prediction.time_ns;
    out_selection.bound = prediction.bound;
    *out = out_selection;
    return NULL;
}

const char *select_best(struct selection *out, size_t *count, size_t most,
                        const struct model *model, const struct gpu *gpu, const struct problem *p,
                        double clock_hz, const struct origami_search *search)
{
    *count = 0;
    if (strcmp(model->name, "origami") != 0)
        return by_prediction(out, count, most, model, gpu, p, clock_hz);
    const char *why = by_origami(out, model, gpu, p, clock_hz, search);
    *count = why ? 0 : 1;
    return why;
}
