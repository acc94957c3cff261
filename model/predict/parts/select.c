// SPDX-License-Identifier: Apache-2.0
//
// Candidates: the tiles and clusters of CUTLASS, QuACK and DeepGEMM on Hopper. Tall and wide tiles
// are both there; two consumer warpgroups hold at most 256 x 128 accumulators.
#include "model/predict/parts/select.h"

#include "model/predict/parts/deepgemm.h"

#include <string.h>

static const int32_t rows[] = {64, 128, 192, 256};
static const int32_t columns[] = {32, 64, 96, 128, 160, 192, 224, 256};
static const struct {
    int32_t m, n;
} clusters[] = {{1, 1}, {2, 1}, {1, 2}};
enum { SLAB_BYTES = 128, STAGES_MOST = 8, TILE_MOST = 256 * 128 };

// As many stages as shared memory holds beside the output tile.
static int32_t stages_for(const struct gpu *gpu, const struct problem *p, const struct traits *t)
{
    double slab = ((double)t->tile_m + t->tile_n) * SLAB_BYTES;
    double room = gpu->smem_bytes.value - (double)t->tile_m * t->tile_n * dtype_bytes(p->out);
    if (gpu->smem_bytes.value <= 0)
        return 4;
    if (room < 2 * slab) // the output tile then takes the drained stages' place
        room = gpu->smem_bytes.value;
    int32_t stages = (int32_t)(room / slab);
    return stages > STAGES_MOST ? STAGES_MOST : stages;
}

static struct traits candidate(const struct gpu *gpu, const struct problem *p, size_t index)
{
    size_t cluster = index % ARRAY_COUNT(clusters);
    size_t column = index / ARRAY_COUNT(clusters) % ARRAY_COUNT(columns);
    size_t row = index / ARRAY_COUNT(clusters) / ARRAY_COUNT(columns);
    struct traits t = {.in = p->in, .out = p->out, .acc = DTYPE_FP32};
    t.tile_m = rows[row];
    t.tile_n = columns[column];
    t.tile_k = (int32_t)(SLAB_BYTES / dtype_bytes(p->in));
    t.cluster_m = clusters[cluster].m;
    t.cluster_n = clusters[cluster].n;
    t.stages = stages_for(gpu, p, &t);
    t.threads = 128 + (t.tile_m > 64 ? 256 : 128);
    t.persistent = 1;
    t.split_k = 1;
    t.raster_group =
        deepgemm_group(t.tile_m, t.tile_n, (int32_t)gpu->sm_count.value, t.cluster_n > t.cluster_m)
            .blocks;
    return t;
}

static const char *by_prediction(struct selection *out, const struct model *model,
                                 const struct gpu *gpu, const struct problem *p, double clock_hz)
{
    struct selection best = {0};
    const char *why = "no candidate fits";
    const size_t count = ARRAY_COUNT(rows) * ARRAY_COUNT(columns) * ARRAY_COUNT(clusters);
    for (size_t i = 0; i < count; i++) {
        struct traits t = candidate(gpu, p, i);
        if (t.tile_m * t.tile_n > TILE_MOST || t.stages < 2)
            continue;
        const struct predict_input in = {
            .gpu = gpu, .traits = &t, .problem = p, .clock_hz = clock_hz};
        struct prediction prediction = model->predict(&in);
        best.tried++;
        if (!prediction.feasible) {
            why = prediction.why;
            continue;
        }
        if (best.valid++ == 0 || prediction.time_ns < best.time_ns) {
            best.traits = t;
            best.time_ns = prediction.time_ns;
            best.bound = prediction.bound;
        }
    }
    if (best.valid == 0)
        return why;
    *out = best;
    return NULL;
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

const char *select_config(struct selection *out, const struct model *model, const struct gpu *gpu,
                          const struct problem *p, double clock_hz,
                          const struct origami_search *search)
{
    if (strcmp(model->name, "origami") == 0)
        return by_origami(out, model, gpu, p, clock_hz, search);
    return by_prediction(out, model, gpu, p, clock_hz);
}
