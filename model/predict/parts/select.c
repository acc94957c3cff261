// SPDX-License-Identifier: Apache-2.0
//
// Chooses the best candidate by a model's prediction. Origami chooses in its own two phases.
#include "model/predict/parts/select.h"

#include "model/predict.h"
#include "model/predict/hopper.h"

#include <stdlib.h>
#include <string.h>

// ==== configurations to choose from ====
//
// For tensor cores: tiles and clusters of CUTLASS, QuACK and DeepGEMM on Hopper, tall and wide, as
// persistent kernels, with K split within a cluster, and as stream-K. Two consumer warpgroups hold
// at most 256 x 128 accumulators. For FP32 without tensor cores, and for tensor cores fed by
// mma.sync: tiles of CUTLASS's multi-stage kernels, with 256 and 128 threads, and with K split up
// to 64 times. A slab of these is 64 bytes deep, or a whole line if tensor cores multiply and
// there is room.

struct candidate_choice {
    int16_t m, n, cluster_m, cluster_n, split;
};

static const struct candidate_choice bulk[] = {
    {64, 32, 1, 1, 1},   {64, 64, 1, 1, 1},   {64, 128, 1, 1, 1},   {64, 192, 1, 1, 1},
    {64, 256, 1, 1, 1},  {128, 32, 1, 1, 1},  {128, 64, 1, 1, 1},   {128, 96, 1, 1, 1},
    {128, 128, 1, 1, 1}, {128, 160, 1, 1, 1}, {128, 192, 1, 1, 1},  {128, 224, 1, 1, 1},
    {128, 256, 1, 1, 1}, {192, 128, 1, 1, 1}, {192, 160, 1, 1, 1},  {256, 64, 1, 1, 1},
    {256, 96, 1, 1, 1},  {256, 128, 1, 1, 1}, {64, 128, 2, 1, 1},   {64, 256, 2, 1, 1},
    {128, 128, 2, 1, 1}, {128, 160, 2, 1, 1}, {128, 192, 2, 1, 1},  {128, 256, 2, 1, 1},
    {128, 128, 1, 2, 1}, {128, 256, 1, 2, 1}, {192, 160, 1, 2, 1},  {256, 128, 1, 2, 1},
    {64, 64, 1, 1, 2},   {64, 128, 1, 1, 2},  {64, 256, 1, 1, 2},   {128, 64, 1, 1, 2},
    {128, 128, 1, 1, 2}, {64, 64, 1, 1, 4},   {64, 128, 1, 1, 4},   {128, 128, 1, 1, 4},
    {64, 64, 1, 1, 8},   {64, 128, 1, 1, -1}, {128, 128, 1, 1, -1}, {128, 256, 1, 1, -1}};

static const struct candidate_choice threads_load[] = {
    {32, 32, 1, 1, 1},    {64, 32, 1, 1, 1},   {32, 64, 1, 1, 1},   {64, 64, 1, 1, 1},
    {128, 32, 1, 1, 1},   {32, 128, 1, 1, 1},  {128, 64, 1, 1, 1},  {64, 128, 1, 1, 1},
    {128, 128, 1, 1, 1},  {256, 64, 1, 1, 1},  {64, 256, 1, 1, 1},  {256, 128, 1, 1, 1},
    {128, 256, 1, 1, 1},  {32, 32, 1, 1, 2},   {64, 64, 1, 1, 2},   {128, 128, 1, 1, 2},
    {32, 32, 1, 1, 4},    {64, 64, 1, 1, 4},   {128, 128, 1, 1, 4}, {32, 32, 1, 1, 8},
    {64, 64, 1, 1, 8},    {128, 128, 1, 1, 8}, {32, 32, 1, 1, 16},  {64, 64, 1, 1, 16},
    {128, 128, 1, 1, 16}, {32, 32, 1, 1, 32},  {64, 64, 1, 1, 32},  {128, 128, 1, 1, 32},
    {32, 32, 1, 1, 64},   {64, 64, 1, 1, 64},  {128, 128, 1, 1, 64}};

enum { SLAB_BYTES = 128, STAGES_MOST = 8, SIMT_STAGES = 3, OUTPUTS_A_THREAD = 64 };

struct candidate_set candidates_of(const struct gpu *gpu, const struct problem *p)
{
    const struct traits none = {0};
    if (simt_applies(&(struct predict_input){.gpu = gpu, .traits = &none, .problem = p}))
        return (struct candidate_set){threads_load, ARRAY_COUNT(threads_load), true,
                                      MULTIPLY_UNKNOWN};
    return (struct candidate_set){bulk, ARRAY_COUNT(bulk), false, MULTIPLY_UNKNOWN};
}

struct candidate_set candidates_mma(void)
{
    return (struct candidate_set){threads_load, ARRAY_COUNT(threads_load), true, MULTIPLY_MMA};
}

// A kernel has as many stages as shared memory holds beside the part of the output tile that is
// stored at one time. This project's kernels and CUTLASS's store larger tiles in parts.
static const double stored_bytes = 32768;

static int32_t stages_for(const struct gpu *gpu, const struct problem *p, const struct traits *t)
{
    double slab = ((double)t->tile_m + t->tile_n) * SLAB_BYTES;
    double stored = (double)t->tile_m * t->tile_n * dtype_bytes(p->out);
    double room = gpu->smem_bytes.value - (stored < stored_bytes ? stored : stored_bytes);
    if (gpu->smem_bytes.value <= 0)
        return 4;
    if (room < 2 * slab) // the output tile then takes the place of the stages
        room = gpu->smem_bytes.value;
    int32_t stages = (int32_t)(room / slab);
    return stages > STAGES_MOST ? STAGES_MOST : stages;
}

static bool bulk_candidate(struct traits *t, const struct gpu *gpu, const struct problem *p)
{
    t->tile_k = (int32_t)(SLAB_BYTES / dtype_bytes(p->in));
    t->stages = stages_for(gpu, p, t);
    t->threads = 128 + (t->tile_m > 64 ? 256 : 128);
    t->persistent = t->split_k <= 1;
    if (p->scales.vector > 0 && dtype_bytes(p->in) == 1) // sums are scaled where they are added
        t->promote_k = t->tile_k;
    t->overlap = t->split_k == 1 && t->tile_m > 64 ? OVERLAP_NEXT_TILE : OVERLAP_NONE;
    t->raster_group = deepgemm_group(t->tile_m, t->tile_n, (int32_t)gpu->sm_count.value,
                                     t->cluster_n > t->cluster_m)
                          .blocks;
    return t->stages >= 2;
}

static bool threads_candidate(struct traits *t, const struct gpu *gpu, const struct problem *p)
{
    int32_t outputs = t->tile_m * t->tile_n;
    int32_t depth = (int32_t)(SLAB_BYTES / 2 / dtype_bytes(p->in));
    double whole = (double)SIMT_STAGES * (t->tile_m + t->tile_n) * SLAB_BYTES;
    if (p->in != DTYPE_FP32 && whole <= gpu->smem_bytes.value)
        depth *= 2;
    t->tile_k = depth;
    t->stages = SIMT_STAGES;
    t->threads = outputs / OUTPUTS_A_THREAD < 64 ? 64 : outputs / OUTPUTS_A_THREAD;
    if (t->threads > 256)
        t->threads = 256;
    t->smem_bytes = (int32_t)(t->stages * (t->tile_m + t->tile_n) * depth * dtype_bytes(p->in));
    return !(gpu->smem_bytes.value > 0) || t->smem_bytes <= gpu->smem_bytes.value;
}

bool candidate(struct traits *out, const struct candidate_set *all, const struct gpu *gpu,
               const struct problem *p, size_t index)
{
    const struct candidate_choice *c = &all->items[index];
    *out = (struct traits){.in = p->in, .out = p->out, .acc = DTYPE_FP32};
    out->tile_m = c->m;
    out->tile_n = c->n;
    out->cluster_m = c->cluster_m;
    out->cluster_n = c->cluster_n;
    out->split_k = c->split;
    out->multiply = all->multiply;
    return all->threads_load ? threads_candidate(out, gpu, p) : bulk_candidate(out, gpu, p);
}

// ==== the best of them ====

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
