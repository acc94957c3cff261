// SPDX-License-Identifier: Apache-2.0
//
// Phase 1 scores every configuration under the default group; phase 2 picks the group that lets the
// first wave touch the fewest operand rows and columns. Sets and order: seed 3, sections 2.1, 2.2.
#include "model/predict/parts/origami.h"

#include <assert.h>

static const int32_t sides[] = {16, 32, 64, 128, 256};
static const int32_t slabs[] = {16, 32, 64, 128, 256, 512};
static const int32_t groups[] = {1, 2, 3, 4, 5, 6, 8, 16};
static const int32_t all_stages[] = {2, 1, 3, 4, 5}; // the document's first: ties stay with it
static const int32_t all_warps[] = {8, 4, 2, 16};
static const int32_t all_splits[] = {1, 2, 3, 4, 6, 8, 12, 16};

int64_t origami_group_cost(int64_t grid_m, int64_t grid_n, int64_t blocks, int32_t group,
                           int32_t tile_m, int32_t tile_n)
{
    // Tiles go row group by row group, down the group's rows first. The first wave is some whole
    // groups, which touch every column, and a rest that fills one group column by column.
    assert(group > 0 && grid_n > 0);
    int64_t width = group * grid_n;
    int64_t whole = blocks / width, rest = blocks % width;
    int64_t rows = whole * group < grid_m ? whole * group : grid_m;
    int64_t columns = whole ? grid_n : 0;
    if (rest) {
        int64_t height = grid_m - rows < group ? grid_m - rows : group;
        assert(height > 0);
        rows += rest < height ? rest : height;
        int64_t touched = (rest + height - 1) / height;
        columns = touched > columns ? touched : columns;
    }
    return rows * tile_m + columns * tile_n;
}

static double intensity(const struct origami_config *c)
{
    double m = c->tile_m, n = c->tile_n, k = c->tile_k;
    return 2 * m * n * k / ((m * n + n * k + m * k) * 2);
}

static bool better(const struct origami_latency *a, const struct origami_config *ac,
                   const struct origami_latency *b, const struct origami_config *bc)
{
    const double tie = 1e-9; // equal but for the order of additions
    if (a->total < b->total * (1 - tie))
        return true;
    return a->total <= b->total * (1 + tie) && intensity(ac) > intensity(bc);
}

struct search_state {
    const struct gpu *gpu;
    const struct problem *problem;
    const struct origami_search *search;
    struct origami_selection best;
    const char *why;
};

static void consider(struct search_state *s, const struct origami_config *c)
{
    struct origami_latency latency;
    s->best.tried++;
    if (s->search->registers && origami_registers(c, s->problem->in) > ORIGAMI_REGISTERS_MAX) {
        s->why = "every configuration spills registers";
        return;
    }
    const char *why = origami_latency(&latency, s->gpu, s->problem, c, 0);
    if (why) {
        s->why = why;
        return;
    }
    if (s->best.valid++ == 0 || better(&latency, c, &s->best.latency, &s->best.config)) {
        s->best.latency = latency;
        s->best.config = *c;
    }
}

static void try_variants(struct search_state *s, struct origami_config c)
{
    size_t stages = s->search->pipeline ? ARRAY_COUNT(all_stages) : 1;
    size_t warps = s->search->pipeline ? ARRAY_COUNT(all_warps) : 1;
    size_t splits = s->search->split_k ? ARRAY_COUNT(all_splits) : 1;
    for (size_t i = 0; i < stages * warps * splits; i++) {
        c.stages = all_stages[i % stages];
        c.warps = all_warps[i / stages % warps];
        c.split = all_splits[i / stages / warps];
        // A warp multiplies at least 16 x 8; a split of fewer than 8 slabs does not pay.
        bool fits = c.warps <= c.tile_m / 16 * (c.tile_n / 8) || c.warps == all_warps[0];
        bool deep = c.split == 1 || s->problem->k / c.split >= 8 * (int64_t)c.tile_k;
        if (fits && deep)
            consider(s, &c);
    }
}

static void choose_group(struct origami_selection *best)
{
    const struct origami_latency *l = &best->latency;
    const struct origami_config *c = &best->config;
    int64_t tiles = l->grid_m * l->grid_n;
    int64_t blocks = l->active < tiles ? l->active : tiles;
    int64_t least = INT64_MAX;
    int32_t chosen = 1;
    for (size_t i = 0; i < ARRAY_COUNT(groups); i++) {
        int64_t cost =
            origami_group_cost(l->grid_m, l->grid_n, blocks, groups[i], c->tile_m, c->tile_n);
        if (cost < least) {
            least = cost;
            chosen = groups[i];
        }
    }
    best->config.group = chosen;
    best->group_cost = least;
}

const char *origami_select(struct origami_selection *out, const struct gpu *gpu,
                           const struct problem *problem, const struct origami_search *search)
{
    struct search_state s = {.gpu = gpu, .problem = problem, .search = search};
    const size_t count = ARRAY_COUNT(sides) * ARRAY_COUNT(sides) * ARRAY_COUNT(slabs);
    for (size_t i = 0; i < count; i++) {
        struct origami_config c = {
            .tile_m = sides[i / ARRAY_COUNT(slabs) / ARRAY_COUNT(sides)],
            .tile_n = sides[i / ARRAY_COUNT(slabs) % ARRAY_COUNT(sides)],
            .tile_k = slabs[i % ARRAY_COUNT(slabs)],
        };
        try_variants(&s, c);
    }
    if (s.best.valid == 0)
        return s.why;
    choose_group(&s.best);
    *out = s.best;
    return NULL;
}
