// SPDX-License-Identifier: Apache-2.0
//
// Names and order of operations follow seed 3, so that the two can be read side by side.
#include "model/predict/parts/origami.h"

#include "model/predict/parts/arithmetic.h"

#include <math.h>

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

// Shared memory of a pipelined tile, bytes: stages - 1 slabs, at least one (Triton's way).
static double origami_smem(const struct origami_config *c, enum dtype in)
{
    int32_t stages = c->stages ? c->stages : 2;
    double slab = ((double)c->tile_m * c->tile_k + (double)c->tile_k * c->tile_n) * dtype_bytes(in);
    return slab * (stages > 2 ? stages - 1 : 1);
}

int32_t origami_registers(const struct origami_config *c, enum dtype in)
{
    int32_t warps = c->warps ? c->warps : 8;
    // Warps are laid out as squarely as the tile: each has at least one 16 x 8 instruction.
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

static bool is_known(struct figure f)
{
    return f.value > 0;
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
    // The document keeps one slab in flight beside the one in use; more of them share a latency.
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
    // Origami's own form: partial results written and read once, the sums, and a fixed cost.
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
    // Below 64 columns the operands' latency shows (arXiv 2501.12084, table 9: 18 to 24 clocks).
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
    double units = least(gpu->mma_units.value, c->warps); // a warp feeds one tensor core
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

const char *origami_latency(struct origami_latency *out, const struct gpu *gpu,
                            const struct problem *p, const struct origami_config *config,
                            double clock_hz)
{
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
