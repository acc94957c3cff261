// SPDX-License-Identifier: Apache-2.0
//
// The model `ws-persistent`: its arithmetic, and what the table of models knows.
#include "model/predict/ws_pipeline.h"

#include "model/predict.h"
#include "model/predict/parts/arithmetic.h"

// Seed 0's model, wave by wave, with seed 0's own operations in seed 0's order, so that its numbers
// come out to the last digit.

static const char *const limiters[] = {"DMA", "MATH", "EPILOG"};

const char *ws_limiter_name(enum ws_limiter limiter)
{
    return limiters[limiter];
}

static double ws_wave_ns(const struct ws_wave *w)
{
    return w->limiter == WS_DMA ? w->dma_ns : w->limiter == WS_MATH ? w->math_ns : w->epilogue_ns;
}

static int32_t or_default(int32_t value, int32_t otherwise)
{
    return value ? value : otherwise;
}

// The terms that every wave shares, named as in the seed.
struct terms {
    const struct predict_input *in;
    double tile_m, tile_n, cluster_m, cluster_n;
    double clock, bandwidth, flops_clk;
};

static double load_s(const struct terms *t, double blocks, double k)
{
    double bytes_in = dtype_bytes(t->in->problem->in);
    double scales = 0;
    const struct block_scales *s = &t->in->problem->scales;
    if (s->vector > 0)
        scales = k / s->vector * dtype_bytes(s->type);
    double a = t->tile_m * k * bytes_in + t->tile_m * scales;
    double b = t->tile_n * k * bytes_in + t->tile_n * scales;
    return blocks * (a / t->cluster_n + b / t->cluster_m) * (1 - t->in->l2_hit_rate) / t->bandwidth;
}

static struct ws_wave wave(const struct terms *t, int64_t blocks)
{
    const struct problem *p = t->in->problem;
    struct ws_wave out = {.blocks = blocks};
    double out_bytes = (double)blocks * t->tile_m * t->tile_n * dtype_bytes(p->out);
    out.dma_ns = load_s(t, (double)blocks, (double)p->k) * 1e9;
    out.math_ns = 2 * t->tile_m * t->tile_n * (double)p->k / (t->clock * t->flops_clk) * 1e9;
    out.epilogue_ns =
        (t->in->gpu->epilogue_min_clk.value / t->clock + out_bytes / t->bandwidth) * 1e9;
    out.limiter = WS_DMA;
    if (out.math_ns > out.dma_ns)
        out.limiter = WS_MATH;
    if (out.epilogue_ns > out.dma_ns && out.epilogue_ns > out.math_ns)
        out.limiter = WS_EPILOGUE;
    return out;
}

static double wave_clocked_ns(const struct ws_wave *w, double epilogue_min_ns)
{
    return w->limiter == WS_DMA ? 0 : w->limiter == WS_MATH ? w->math_ns : epilogue_min_ns;
}

static const char *refuse(const struct ws_breakdown *b, const struct predict_input *in)
{
    const struct gpu *gpu = in->gpu;
    if (b->tile_m <= 0 || b->tile_n <= 0 || b->tile_m > 1024 || b->tile_n > 1024)
        return "a tile must be 1 to 1024 on each side";
    if (b->cluster_m <= 0 || b->cluster_n <= 0 || b->cluster_m > 16 || b->cluster_n > 16 ||
        b->cluster_m * b->cluster_n > 16)
        return "a cluster holds 1 to 16 blocks";
    if (b->cluster_m * b->cluster_n > gpu->sm_count.value)
        return "the cluster is larger than the GPU";
    // Tiles are counted in 64 bits; the bound leaves room for the padding to whole clusters.
    if ((double)in->problem->m / b->tile_m * ((double)in->problem->n / b->tile_n) *
            in->problem->batch >
        1e15)
        return "more tiles than can be counted";
    if (!(in->l2_hit_rate >= 0 && in->l2_hit_rate <= 1))
        return "the L2 hit rate must be 0 to 1";
    if (!(gpu_flops_clk(gpu, in->problem->in) > 0))
        return "the profile has no rate for this element type";
    if (!(gpu->dram_bytes_s.value > 0))
        return "the profile has no DRAM bandwidth";
    if (gpu->overhead_clk.origin == ORIGIN_UNKNOWN ||
        gpu->epilogue_min_clk.origin == ORIGIN_UNKNOWN)
        return "the profile lacks overhead_clk or epilogue_min_clk";
    return NULL;
}

static void add_times(struct ws_breakdown *b, const struct terms *t)
{
    const struct gpu *gpu = t->in->gpu;
    double epilogue_min_ns = gpu->epilogue_min_clk.value / t->clock * 1e9;
    b->overhead_ns = gpu->overhead_clk.value / t->clock * 1e9;
    // The first load is 32 bytes of K, one multiply instruction's worth, not a pipeline stage.
    int64_t first = b->full_waves ? b->full.blocks : b->last.blocks;
    b->first_dma_ns = load_s(t, (double)first, 32 / dtype_bytes(t->in->problem->in)) * 1e9;
    b->time_ns = b->overhead_ns + b->first_dma_ns + (double)b->full_waves * ws_wave_ns(&b->full);
    b->clocked_ns =
        b->overhead_ns + (double)b->full_waves * wave_clocked_ns(&b->full, epilogue_min_ns);
    if (b->partial) {
        b->time_ns += ws_wave_ns(&b->last);
        b->clocked_ns += wave_clocked_ns(&b->last, epilogue_min_ns);
    }
    b->time_ns += b->last.epilogue_ns;
    b->clocked_ns += epilogue_min_ns;
}

const char *ws_persistent(struct ws_breakdown *out, const struct predict_input *in)
{
    const struct problem *p = in->problem;
    struct ws_breakdown b = {
        .tile_m = or_default(in->traits->tile_m, 128),
        .tile_n = or_default(in->traits->tile_n, 128),
        .cluster_m = or_default(in->traits->cluster_m, 1),
        .cluster_n = or_default(in->traits->cluster_n, 1),
        .clock_hz = in->clock_hz > 0 ? in->clock_hz : in->gpu->clock_hz.value,
    };
    const char *why = refuse(&b, in);
    if (why)
        return why;
    struct terms t = {.in = in,
                      .tile_m = b.tile_m,
                      .tile_n = b.tile_n,
                      .cluster_m = b.cluster_m,
                      .cluster_n = b.cluster_n,
                      .clock = b.clock_hz,
                      .bandwidth = in->gpu->dram_bytes_s.value,
                      .flops_clk = gpu_flops_clk(in->gpu, p->in)};
    int64_t cluster = (int64_t)b.cluster_m * b.cluster_n;
    int64_t full = (int64_t)in->gpu->sm_count.value / cluster * cluster;
    b.tiles = ceil_div(p->m, (int64_t)b.tile_m * b.cluster_m) *
              ceil_div(p->n, (int64_t)b.tile_n * b.cluster_n) * cluster * p->batch;
    b.full_waves = b.tiles / full;
    b.partial = b.tiles % full != 0;
    b.full = wave(&t, full);
    b.last = b.partial ? wave(&t, b.tiles % full) : b.full;
    add_times(&b, &t);
    *out = b;
    return NULL;
}

static enum bound bound_of(const struct ws_wave *wave)
{
    static const enum bound bounds[] = {
        [WS_DMA] = BOUND_MEMORY, [WS_MATH] = BOUND_COMPUTE, [WS_EPILOGUE] = BOUND_EPILOGUE};
    return bounds[wave->limiter];
}

static struct prediction predict(const struct predict_input *in)
{
    struct ws_breakdown b;
    struct prediction out = {.model = "ws-persistent", .version = "1"};
    if ((out.why = claims_refuse(in, CLAIM_SCALES)))
        return out;
    out.why = ws_persistent(&b, in);
    if (out.why)
        return out;
    double waves_ns = (double)b.full_waves * ws_wave_ns(&b.full);
    double last_ns = b.partial ? ws_wave_ns(&b.last) : 0;
    double around_ns = b.overhead_ns + b.first_dma_ns;
    out.feasible = true;
    out.time_ns = b.time_ns;
    out.clock_hz = b.clock_hz;
    out.clock_exponent = -b.clocked_ns / b.time_ns;
    out.bound =
        around_ns > waves_ns + last_ns ? BOUND_LATENCY : bound_of(b.full_waves ? &b.full : &b.last);
    const struct prediction_part parts[] = {{"overhead", b.overhead_ns},
                                            {"first-dma", b.first_dma_ns},
                                            {"full-waves", waves_ns},
                                            {"last-wave", last_ns},
                                            {"epilogue", b.last.epilogue_ns}};
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        out.parts[out.part_count++] = parts[i];
    return out;
}

const struct model model_ws_persistent = {
    .name = "ws-persistent",
    .version = "1",
    .why = "waves of a warp-specialised persistent kernel: load, math and epilogue overlap",
    .predict = predict,
};
