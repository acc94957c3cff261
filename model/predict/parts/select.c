// SPDX-License-Identifier: Apache-2.0
//
// The best of the candidates by a model's prediction; Origami in its own two phases.
#include "model/predict/parts/select.h"

#include "model/predict/parts/candidates.h"

#include <stdlib.h>
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

static void take_prediction(struct selection *out, const struct prediction *prediction)
{
    out->time_ns = prediction->time_ns;
    out->bound = prediction->bound;
    for (size_t i = 0; i < prediction->part_count; i++) {
        const char *name = prediction->parts[i].name;
        if (strcmp(name, "launch") == 0 || strcmp(name, "overhead") == 0)
            out->launch_ns += prediction->parts[i].time_ns;
    }
}

static const char *by_prediction(struct selection *out, size_t *kept, size_t most,
                                 const struct model *model, const struct predict_input *asked)
{
    const char *why = "no candidate fits";
    int32_t tried = 0, valid = 0;
    const struct candidate_set all = candidates_of(asked->gpu, asked->problem);
    for (size_t i = 0; i < all.count; i++) {
        struct selection found = {0};
        if (!candidate(&found.traits, &all, asked->gpu, asked->problem, i))
            continue;
        struct predict_input in = *asked;
        in.traits = &found.traits;
        struct prediction prediction = model->predict(&in);
        tried++;
        if (!prediction.feasible) {
            why = prediction.why;
            continue;
        }
        valid++;
        take_prediction(&found, &prediction);
        keep(out, kept, most, &found);
    }
    for (size_t i = 0; i < *kept; i++) {
        out[i].tried = tried;
        out[i].valid = valid;
    }
    return valid ? NULL : why;
}

// NULL, or why the model has no time of such a problem.
static const char *take_origami(struct selection *out, const struct origami_selection *s,
                                const struct model *model, const struct predict_input *asked)
{
    struct traits *t = &out->traits;
    *out = (struct selection){.tried = s->tried, .valid = s->valid};
    *t = (struct traits){.in = asked->problem->in, .out = asked->problem->out, .acc = DTYPE_FP32};
    t->tile_m = s->config.tile_m;
    t->tile_n = s->config.tile_n;
    t->tile_k = s->config.tile_k;
    t->stages = s->config.stages;
    t->threads = s->config.warps * 32;
    t->split_k = s->config.split;
    t->raster_group = s->config.group;
    struct traits scored = *t;
    scored.raster_group = 0; // phase 1's default group
    struct predict_input in = *asked;
    in.traits = &scored;
    const struct prediction prediction = model->predict(&in);
    take_prediction(out, &prediction);
    return prediction.feasible ? NULL : prediction.why;
}

static const char *by_origami(struct selection *out, size_t *count, size_t most,
                              const struct model *model, const struct predict_input *asked,
                              const struct origami_search *search)
{
    struct origami_selection *ranked = xcalloc(most, sizeof(*ranked));
    const char *why = origami_rank(ranked, count, most, asked->gpu, asked->problem, search);
    for (size_t i = 0; i < *count && !why; i++)
        why = take_origami(&out[i], &ranked[i], model, asked);
    free(ranked);
    *count = why ? 0 : *count;
    return why;
}

const char *select_best(struct selection *out, size_t *count, size_t most,
                        const struct model *model, const struct predict_input *in,
                        const struct origami_search *search)
{
    *count = 0;
    return strcmp(model->name, "origami") ? by_prediction(out, count, most, model, in)
                                          : by_origami(out, count, most, model, in, search);
}
