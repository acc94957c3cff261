// SPDX-License-Identifier: Apache-2.0
//
// The model `origami`: its formulas, its selection in two phases, and its entry in the
// table of models.
#include "model/predict/parts/select.h"

#include "model/predict.h"
#include "model/predict/parts/arithmetic.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// ---- a time ----
//
// Names and order of operations follow seed 3, so that the two can be read side by side.

static struct origami_config filled_in(const struct origami_config *c, const struct gpu *gpu)
{
    struct origami_config out = *c;
    if (out.group == 0)
        out.group = (int32_t)ceil(sqrt(gpu->sm_count.value));
    out.stages = out.stages ? out.stages : 2;
    out.warps = out.warps ? out.warps : 8;
    out.split = out.split ? out.split : 1;
    return out;
}

// The shared memory of a pipelined tile in bytes: stages - 1 slabs, but at least one, as in Triton.
static double slab_bytes(const struct origami_config *c, enum dtype in)
{
    return ((double)c->tile_m * c->tile_k + (double)c->tile_k * c->tile_n) * dtype_bytes(in);
}

static double origami_smem(const struct origami_config *c, enum dtype in)
{
    int32_t stages = c->stages ? c->stages : 2;
    return slab_bytes(c, in) * (stages > 2 ? stages - 1 : 1);
}

int32_t origami_registers(const struct origami_config *c, enum dtype in)
{
    int32_t warps = c->warps ? c->warps : 8;
    // Warps are laid out as squarely as the tile allows: each has at least one 16 x 8 instruction.
    int32_t down = 1, across = 1;
    while (down * across < warps) {
        if (c->tile_m / down >= c->tile_n / across)
            down *= 2;
        else
            across *= 2;
    }
    double accumulators = (double)c->tile_m * c->tile_n / (32.0 * warps);
    double step = 32 / dtype_bytes(in); // elements of K in one instruction
    double rows = (double)c->tile_m / down + (double)c->tile_n / across;
    double fragments = rows * step * dtype_bytes(in) / (4 * 32);
    return (int32_t)ceil(24 + accumulators + fragments);
}

// Whether registers suffice: a thread has at most 255, and an SM has a fixed number for all threads
// of a block.
static bool registers_fit(const struct gpu *gpu, const struct origami_config *c, enum dtype in)
{
    int32_t each = origami_registers(c, in), threads = 32 * (c->warps ? c->warps : 8);
    if (each > ORIGAMI_REGISTERS_MAX)
        return false;
    return !(gpu->registers.value > 0) || (double)each * threads <= gpu->registers.value;
}

static bool is_known(struct figure f)
{
    return f.value > 0;
}

static void derive(struct figure *figure, double value)
{
    if (!is_known(*figure))
        figure->value = value;
}

// Fills in figures that neither a benchmark nor a data sheet gives: the lowest of the document's
// three tiers. They come from its measurements of the RTX 4090 (128 SMs, of which 45 use all of
// the DRAM's bandwidth).
static void derive_figures(struct gpu *gpu)
{
    const double sms = gpu->sm_count.value;
    if (!is_known(gpu->compute_capability) || !(sms > 0))
        return; // the profile is not a GPU's
    derive(&gpu->mma_units, 4);
    // The clocks that one product of 16 x 8 x 16 takes on a tensor core: 32 there by the data
    // sheet, and 33 as measured.
    if (gpu->flops_clk_fp16.value > 0)
        derive(&gpu->mma_latency_clk, gpu->mma_units.value * 4096 / gpu->flops_clk_fp16.value);
    derive(&gpu->dram_latency_clk, 623);
    derive(&gpu->dram_sm_fraction, 0.0222 * 128 / sms);
    derive(&gpu->l2_bytes_clk, 1896.0 / 128 * sms);
}

static const char *refuse(const struct gpu *gpu, const struct problem *p,
                          const struct origami_config *c)
{
    if (c->tile_m < 16 || c->tile_n < 8 || c->tile_k < 16 || c->tile_m > 1024 || c->tile_n > 1024 ||
        c->tile_k > 4096)
        return "a tile must be 16-1024 x 8-1024 x 16-4096";
    if (c->stages < 1 || c->stages > 32 || c->warps < 1 || c->warps > 32 || c->group < 1 ||
        c->split < 1 || c->split > 64)
        return "stages, warps, group or split is out of range";
    if (!is_known(gpu->sm_count) || !is_known(gpu->l2_bytes) || !is_known(gpu->l2_bytes_clk) ||
        !is_known(gpu->smem_bytes) || !is_known(gpu->dram_bytes_s) || !is_known(gpu->clock_hz))
        return "the profile lacks SMs, clock, shared memory, or DRAM or L2 bandwidth";
    if (!is_known(gpu->mma_latency_clk) || !is_known(gpu->mma_units) ||
        !is_known(gpu->dram_sm_fraction) || !is_known(gpu->dram_latency_clk))
        return "the profile lacks mma_latency_clk, mma_units, dram_sm_fraction or dram_latency_clk";
    if (origami_smem(c, p->in) > gpu->smem_bytes.value)
        return "the tile does not fit in shared memory";
    if ((double)p->m / c->tile_m * ((double)p->n / c->tile_n) * p->batch * c->split > 1e15)
        return "more tiles than can be counted";
    return NULL;
}

// Algorithm 5: the super-group that runs at once, its reuse, and the cap for large working sets.
static void estimate_l2_hit(struct origami_latency *o, const struct gpu *gpu,
                            const struct origami_config *c, double bytes)
{
    int64_t tn = c->group < o->grid_n ? c->group : o->grid_n;
    int64_t tm = ceil_div(o->active, tn);
    if (tm > o->grid_m) {
        tn += tm / o->grid_m * c->group;
        tm = o->grid_m;
    }
    tn = tn > o->grid_n ? o->grid_n : tn;
    double row = (double)c->tile_m * c->tile_k * bytes,
           column = (double)c->tile_k * c->tile_n * bytes;
    while ((double)tm * row + (double)tn * column > gpu->l2_bytes.value) {
        if (tm > 1 && tm >= tn)
            tm--;
        else if (tn > 1)
            tn--;
        else
            break;
    }
    double once_a = (double)tm * row, once_b = (double)tn * column;
    o->l2_tile_m = tm;
    o->l2_tile_n = tn;
    o->uncached_bytes = once_a + once_b;
    o->l2_hit = 1 - (once_a + once_b) / (once_a * (double)tn + once_b * (double)tm);
    o->working_set = (double)o->grid_m * row + (double)o->grid_n * column;
    if (o->working_set > gpu->l2_bytes.value)
        o->l2_hit = least(o->l2_hit, 0.5);
}

// Algorithm 7: the slower of the L2 path, which all bytes take, and the DRAM path of the misses.
static void memory_latency(struct origami_latency *o, const struct gpu *gpu,
                           const struct origami_config *c, double bytes, double dram_clk)
{
    double active = (double)o->active, sms = gpu->sm_count.value;
    o->load_a = ceil((double)c->tile_m * c->tile_k * bytes / 128) * 128;
    o->load_b = ceil((double)c->tile_k * c->tile_n * bytes / 128) * 128;
    o->total_load = most(o->load_a + o->load_b, 128) * active;
    o->l2 = o->total_load / (gpu->l2_bytes_clk.value * (active / sms));
    o->load_dram = (1 - o->l2_hit) * o->total_load;
    double fraction = least(1, gpu->dram_sm_fraction.value * active);
    // The document has one slab in flight beside the one in use. With more, each slab's latency is
    // divided among them.
    double in_flight = c->stages > 2 ? c->stages - 1 : 1;
    o->dram = 0;
    if (o->load_dram > 0)
        o->dram = o->load_dram / (dram_clk * fraction) + gpu->dram_latency_clk.value / in_flight;
    o->mem = most(o->l2, o->dram);
}

static double split_cost(const struct origami_latency *o, const struct origami_config *c,
                         double dram_clk)
{
    if (c->split == 1)
        return 0;
    // The cost of split-K, in Origami's own form: partial results are written and read once, then
    // summed, plus a fixed cost.
    double partials = 2.0 * (double)o->active * c->tile_m * c->tile_n * 4;
    return partials / dram_clk + (double)c->tile_m * c->tile_n * c->split / 64 + 10000;
}

// Algorithm 8: prologue, main loop, epilogue of one tile; times waves, algorithm 9.
static void total_latency(struct origami_latency *o, const struct gpu *gpu, const struct problem *p,
                          const struct origami_config *c, double dram_clk)
{
    double discount = 0.95; // 0.95^occupancy, at occupancy 1
    double penalty = 1 / o->utilization;
    int64_t k = ceil_div(p->k, c->split);
    o->prologue = 1.5 * o->mem * penalty * discount;
    double fraction = least(1, gpu->dram_sm_fraction.value * (double)o->active);
    double stored = (double)o->active * c->tile_m * c->tile_n * dtype_bytes(p->out);
    o->epilogue = (stored / (dram_clk * fraction) + o->compute * penalty) * discount;
    o->epilogue += split_cost(o, c, dram_clk);
    int64_t slabs = ceil_div(k, c->tile_k);
    o->iterations = slabs > 2 ? slabs - 1 : 1;
    int64_t rest = k % c->tile_k;
    o->k_pad = rest ? (double)rest / (double)k * 50000 : 0;
    double overlapped = c->stages > 1 ? most(o->compute, o->mem) : o->compute + o->mem;
    o->steady = overlapped * penalty;
    double iterations = (double)o->iterations;
    o->total =
        (o->steady * iterations + o->prologue + o->epilogue * 2 + 1 + 500 * iterations + o->k_pad) *
        (double)o->waves;
}

// The document's instruction is mma.sync's 16 x 8, which one warp feeds. From Hopper on it is one
// of 64 rows and up to 256 columns that all tensor cores of an SM work on.
static void warpgroup_compute(struct origami_latency *o, const struct gpu *gpu,
                              const struct problem *p, const struct origami_config *c)
{
    enum { ROWS = 64, COLUMNS = 256 };
    // Below 64 columns the latency of the operands becomes visible (arXiv 2501.12084, table 9: 18
    // to 24 clocks).
    const double narrow_clk = 24;
    double wgmma_rate = 8192 / dtype_bytes(p->in); // FLOP a clock on Hopper: 32 bytes of K in n / 2
    double rate = gpu_flops_clk(gpu, p->in);
    int64_t mma_k = (int64_t)(32 / dtype_bytes(p->in));
    int32_t columns = c->tile_n < COLUMNS ? c->tile_n : COLUMNS;
    double width = (columns + 7) / 8 * 8;
    double clk = width >= ROWS ? width / 2 : most(width / 2, narrow_clk);
    o->n_mma = (double)(ceil_div(c->tile_m, ROWS) * ceil_div(c->tile_n, columns) *
                        ceil_div(c->tile_k, mma_k));
    o->compute = o->n_mma * clk * (rate > 0 ? wgmma_rate / rate : 1);
}

static void grid_and_compute(struct origami_latency *o, const struct gpu *gpu,
                             const struct problem *p, const struct origami_config *c)
{
    int64_t sms = (int64_t)gpu->sm_count.value, mma_k = (int64_t)(32 / dtype_bytes(p->in));
    int64_t k = ceil_div(p->k, c->split), slabs = ceil_div(k, c->tile_k);
    o->n_mma =
        (double)(ceil_div(c->tile_m, 16) * ceil_div(c->tile_n, 8) * ceil_div(c->tile_k, mma_k));
    double units = least(gpu->mma_units.value, c->warps); // one warp feeds one tensor core
    o->compute = gpu->mma_latency_clk.value / units * o->n_mma;
    if (gpu->compute_capability.value >= 9)
        warpgroup_compute(o, gpu, p, c);
    o->grid_m = ceil_div(p->m, c->tile_m);
    o->grid_n = ceil_div(p->n, c->tile_n);
    int64_t tiles = o->grid_m * o->grid_n * p->batch * c->split;
    o->active = tiles < sms ? tiles : sms;
    o->waves = ceil_div(tiles, sms);
    o->utilization = (double)p->m * (double)p->n * (double)k /
                     ((double)(o->grid_m * c->tile_m) * (double)(o->grid_n * c->tile_n) *
                      (double)(slabs * c->tile_k));
}

const char *origami_latency(struct origami_latency *out, const struct gpu *profile,
                            const struct problem *p, const struct origami_config *config,
                            double clock_hz)
{
    struct gpu known = *profile;
    derive_figures(&known);
    const struct gpu *gpu = &known;
    struct origami_config c = filled_in(config, gpu);
    const char *why = refuse(gpu, p, &c);
    if (why)
        return why;
    struct origami_latency o = {0};
    double bytes = dtype_bytes(p->in);
    double dram_clk = gpu->dram_bytes_s.value / (clock_hz > 0 ? clock_hz : gpu->clock_hz.value);
    grid_and_compute(&o, gpu, p, &c);
    estimate_l2_hit(&o, gpu, &c, bytes);
    memory_latency(&o, gpu, &c, bytes, dram_clk);
    total_latency(&o, gpu, p, &c, dram_clk);
    *out = o;
    return NULL;
}

// ---- the choice ----
//
// Phase 1 scores every configuration under the default group; phase 2 picks the group that lets the
// first wave touch the fewest operand rows and columns. Sets and order: seed 3, sections 2.1, 2.2.

static const int32_t sides[] = {16, 32, 64, 128, 256};

static const int32_t slabs[] = {16, 32, 64, 128, 256, 512};

static const int32_t groups[] = {1, 2, 3, 4, 5, 6, 8, 16};

// the document's value comes first, so it wins ties
static const int32_t all_stages[] = {2, 1, 3, 4, 5};

static const int32_t all_warps[] = {8, 4, 2, 16};

static const int32_t all_splits[] = {1, 2, 3, 4, 6, 8, 12, 16};

int64_t origami_group_cost(int64_t grid_m, int64_t grid_n, int64_t blocks, int32_t group,
                           int32_t tile_m, int32_t tile_n)
{
    // Tiles are walked one row group after the other, down the group's rows first. So the first
    // wave consists of whole groups, which touch every column, and a rest that fills one group
    // column by column.
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
    const double tie = 1e-9; // scores that differ by less differ only by the order of additions
    if (a->total < b->total * (1 - tie))
        return true;
    return a->total <= b->total * (1 + tie) && intensity(ac) > intensity(bc);
}

struct search_state {
    const struct gpu *gpu;
    const struct problem *problem;
    const struct origami_search *search;
    struct origami_selection *best; // the `most` best so far, best first
    size_t kept, most;
    int32_t tried, valid;
    const char *why;
};

// Ties stay behind what was found before.
static void keep(struct search_state *s, const struct origami_config *c,
                 const struct origami_latency *latency)
{
    size_t at = s->kept;
    while (at > 0 && better(latency, c, &s->best[at - 1].latency, &s->best[at - 1].config))
        at--;
    if (at >= s->most)
        return;
    const size_t last = s->kept < s->most ? s->kept : s->most - 1;
    memmove(&s->best[at + 1], &s->best[at], (last - at) * sizeof(*s->best));
    s->best[at] = (struct origami_selection){.config = *c, .latency = *latency};
    s->kept = last + 1;
}

// From Hopper on, Triton has a slab for each stage: 13 of the document's tiles did not load on an
// H100 (baselines/recorded/h100). The document's own search requires less, and keeps its choice.
static bool stages_fit(const struct search_state *s, const struct origami_config *c)
{
    if (!(s->gpu->compute_capability.value >= 9) || !(s->search->registers || s->search->pipeline))
        return true;
    return slab_bytes(c, s->problem->in) * c->stages <= s->gpu->smem_bytes.value;
}

static void consider(struct search_state *s, const struct origami_config *c)
{
    struct origami_latency latency;
    s->tried++;
    if (s->search->registers && !registers_fit(s->gpu, c, s->problem->in)) {
        s->why = "no configuration fits into the registers";
        return;
    }
    if (!stages_fit(s, c)) {
        s->why = "no configuration's stages fit in shared memory";
        return;
    }
    const char *why = origami_latency(&latency, s->gpu, s->problem, c, 0);
    if (why) {
        s->why = why;
        return;
    }
    s->valid++;
    keep(s, c, &latency);
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
        // A warp multiplies at least 16 x 8. A split with fewer than 8 slabs does not pay.
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

const char *origami_rank(struct origami_selection *out, size_t *kept, size_t most,
                         const struct gpu *gpu, const struct problem *problem,
                         const struct origami_search *search)
{
    struct search_state s = {
        .gpu = gpu, .problem = problem, .search = search, .best = out, .most = most};
    const size_t count = ARRAY_COUNT(sides) * ARRAY_COUNT(sides) * ARRAY_COUNT(slabs);
    for (size_t i = 0; i < count; i++) {
        struct origami_config c = {
            .tile_m = sides[i / ARRAY_COUNT(slabs) / ARRAY_COUNT(sides)],
            .tile_n = sides[i / ARRAY_COUNT(slabs) % ARRAY_COUNT(sides)],
            .tile_k = slabs[i % ARRAY_COUNT(slabs)],
        };
        try_variants(&s, c);
    }
    *kept = s.kept;
    for (size_t i = 0; i < s.kept; i++) {
        out[i].tried = s.tried;
        out[i].valid = s.valid;
        choose_group(&out[i]);
    }
    return s.valid ? NULL : s.why;
}

static struct origami_config config_of(const struct traits *t)
{
    return (struct origami_config){
        .tile_m = t->tile_m ? t->tile_m : 128,
        .tile_n = t->tile_n ? t->tile_n : 128,
        .tile_k = t->tile_k ? t->tile_k : 64,
        .group = t->raster_group > 1 ? t->raster_group : 0,
        .stages = t->stages,
        .warps = t->threads / 32,
        .split = t->split_k > 0 ? t->split_k : 0,
    };
}

static enum bound bound_of(const struct origami_latency *l)
{
    double main_loop = l->steady * (double)l->iterations;
    if (2 * l->epilogue > main_loop)
        return BOUND_EPILOGUE;
    if (500 * (double)l->iterations + l->prologue + l->k_pad > main_loop)
        return BOUND_LATENCY;
    return l->compute >= l->mem ? BOUND_COMPUTE : BOUND_MEMORY;
}

// The model counts clocks and DRAM bytes per clock, so time barely follows the clock where DRAM
// binds; the slope is taken numerically.
static double exponent(const struct predict_input *in, const struct origami_config *c, double clock,
                       double total)
{
    const double step = 1.001;
    struct origami_latency faster;
    if (origami_latency(&faster, in->gpu, in->problem, c, clock * step))
        return 0;
    return log(faster.total / total) / log(step) - 1;
}

static struct prediction predict(const struct predict_input *in)
{
    struct prediction out = {.model = "origami", .version = "1"};
    struct origami_config c = config_of(in->traits);
    double clock = in->clock_hz > 0 ? in->clock_hz : in->gpu->clock_hz.value;
    struct origami_latency l;
    if ((out.why = claims_refuse(in, CLAIM_NN)))
        return out;
    out.why = origami_latency(&l, in->gpu, in->problem, &c, clock);
    if (out.why)
        return out;
    double ns = 1e9 / clock, waves = (double)l.waves, iterations = (double)l.iterations;
    out.feasible = true;
    out.time_ns = l.total * ns;
    out.clock_hz = clock;
    out.clock_exponent = exponent(in, &c, clock, l.total);
    out.bound = bound_of(&l);
    const struct prediction_part parts[] = {{"prologue", l.prologue * waves * ns},
                                            {"mainloop", l.steady * iterations * waves * ns},
                                            {"loop-overhead", 500 * iterations * waves * ns},
                                            {"epilogue", (2 * l.epilogue + 1) * waves * ns},
                                            {"k-padding", l.k_pad * waves * ns}};
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        out.parts[out.part_count++] = parts[i];
    return out;
}

const struct model model_origami = {
    .name = "origami",
    .version = "1",
    .why = "tile latency with L2 reuse of the tiles that run at once; made to select",
    .predict = predict,
};
