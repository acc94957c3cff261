// SPDX-License-Identifier: Apache-2.0
//
// The model `hopper` from problem and traits to time: what fits, how many waves, and both ends. One
// wave is hopper_wave.c or simt.c, the clock hopper_clock.c.
#include "model/predict/parts/hopper_terms.h"

#include "model/predict/parts/cutlass.h"
#include "model/predict/parts/simt.h"
#include "model/predict/parts/streamk.h"

#include <math.h>

// Fitted; see hopper.h.
static const double fill_s = 1.53e-6, cluster_s = 2.65e-7, split_s = 1.1e-6;
static const double store_clk = 1900, store_rate = 0.597; // of the DRAM rate
static const double shared_reserve = 1024;                // of each block, taken by the system
enum { ROWS = 64, CLUSTER_MOST = 16, REGISTERS_MOST = 255, REGISTERS_KEPT = 24 };

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int32_t or_default(int32_t value, int32_t otherwise)
{
    return value > 0 ? value : otherwise;
}

static int32_t math_warpgroups(const struct traits *t, int32_t tile_m)
{
    if (t->threads >= 256)
        return t->threads / 128 - 1; // one warpgroup loads
    return t->threads || tile_m <= ROWS ? 1 : 2;
}

static const char *refuse_shape(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    if (b->tile_m > 1024 || b->tile_n > 1024 || b->tile_k > 4096 || b->stages > 64)
        return "a tile must be at most 1024 x 1024 x 4096, with at most 64 stages";
    if (t->cluster_m > CLUSTER_MOST || t->cluster_n > CLUSTER_MOST ||
        t->cluster_m * t->cluster_n > CLUSTER_MOST)
        return "a cluster holds at most 16 blocks";
    if (t->in->traits->split_k > 64)
        return "K is split at most 64 times";
    if ((double)p->m / b->tile_m * ((double)p->n / b->tile_n) * p->batch * t->split > 1e15)
        return "more tiles than can be counted";
    return NULL;
}

static const char *refuse_profile(const struct hopper_terms *t)
{
    if (!(t->gpu->sm_count.value >= 1) || !(t->clock > 0) || !(t->gpu->dram_bytes_s.value > 0))
        return "the profile lacks SMs, clock or DRAM bandwidth";
    if (!(t->flops_clk > 0))
        return "the profile has no rate for this element type";
    if (t->sms < 1)
        return "the cluster does not fit into a GPC";
    return NULL;
}

static const char *refuse_resources(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct gpu *gpu = t->gpu;
    const struct traits *traits = t->in->traits;
    double slab = ((double)b->tile_m + b->tile_n) * b->tile_k * t->bytes_in;
    double smem = traits->smem_bytes > 0 ? traits->smem_bytes : slab * traits->stages;
    if (gpu->smem_bytes.value > 0 && smem > gpu->smem_bytes.value)
        return "the stages do not fit in a block's shared memory";
    if (gpu->registers.value > 0 &&
        (double)traits->registers * traits->threads * b->blocks_per_sm > gpu->registers.value)
        return "the registers of the resident blocks do not fit in an SM";
    // FP32 accumulators of a warpgroup's share, beside addresses and loop state.
    double accumulators = (double)b->tile_m * b->tile_n / (128.0 * t->warpgroups);
    if (t->tensor && traits->registers <= 0 && accumulators + REGISTERS_KEPT > REGISTERS_MOST)
        return "the accumulators do not fit in a thread's 255 registers";
    return NULL;
}

static void choose_stages(struct hopper_breakdown *b, const struct hopper_terms *t)
{
    double slab = ((double)b->tile_m + b->tile_n) * b->tile_k * t->bytes_in;
    double room = t->gpu->smem_bytes.value - (double)b->tile_m * b->tile_n * t->bytes_out;
    b->stages = t->in->traits->stages;
    if (b->stages <= 0)
        b->stages = (int32_t)most(2, least(8, floor(room / slab)));
}

static void choose_occupancy(struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct traits *traits = t->in->traits;
    double blocks = traits->blocks_per_sm;
    if (blocks <= 0 && t->simt) {
        blocks = simt_blocks_per_sm(b, t);
    } else if (blocks <= 0) {
        blocks = 1; // what a kernel of this family has; only known sizes say more
        bool known = traits->smem_bytes > 0 && traits->registers > 0 && traits->threads > 0;
        if (known && t->gpu->smem_sm_bytes.value > 0 && t->gpu->registers.value > 0)
            blocks =
                least(floor(t->gpu->smem_sm_bytes.value / (traits->smem_bytes + shared_reserve)),
                      floor(t->gpu->registers.value / traits->registers / traits->threads));
    }
    b->blocks_per_sm = (int32_t)most(1, least(blocks, 32));
}

// Stream-K with fewer tiles than SMs cuts every tile into equal pieces of K.
static int32_t streamk_split(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    struct streamk_shape shape = streamk_shape(p, b->tile_m, b->tile_n, b->tile_k);
    return shape.tiles < t->sms ? (int32_t)(streamk_grid(&shape, t->sms) / shape.tiles) : 1;
}

static const char *set_up(struct hopper_breakdown *b, struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    const struct traits *traits = t->in->traits;
    t->tensor = p->in != DTYPE_FP32 && p->in != DTYPE_FP64;
    t->simt = simt_applies(t->in);
    t->bytes_in = dtype_bytes(p->in);
    t->bytes_out = dtype_bytes(p->out);
    t->flops_clk = t->simt ? simt_flops_clk(t->in) : gpu_flops_clk(t->gpu, p->in);
    b->tile_m = or_default(traits->tile_m, 128);
    b->tile_n = or_default(traits->tile_n, 128);
    b->tile_k = or_default(traits->tile_k, (int32_t)(128 / t->bytes_in));
    t->cluster_m = or_default(traits->cluster_m, 1);
    t->cluster_n = or_default(traits->cluster_n, 1);
    t->split = or_default(traits->split_k, 1);
    t->warpgroups = math_warpgroups(traits, b->tile_m);
    const char *why = refuse_shape(b, t);
    if (why)
        return why;
    int32_t sms = (int32_t)t->gpu->sm_count.value;
    t->cluster = t->cluster_m * t->cluster_n;
    if (t->split > 1 && !traits->persistent && t->cluster * t->split <= CLUSTER_MOST)
        t->cluster *= t->split; // the blocks that share a tile exchange partial sums
    int32_t gpc = t->gpu->gpc_sms.value > 0 ? (int32_t)t->gpu->gpc_sms.value : sms;
    t->sms = cutlass_resident_blocks(gpc, t->cluster, sms);
    if ((why = refuse_profile(t)))
        return why;
    choose_stages(b, t);
    choose_occupancy(b, t);
    t->grid_m = ceil_div(p->m, (int64_t)b->tile_m * t->cluster_m) * t->cluster_m;
    t->grid_n = ceil_div(p->n, (int64_t)b->tile_n * t->cluster_n) * t->cluster_n;
    if (traits->split_k < 0)
        t->split = streamk_split(b, t);
    t->slabs = (double)ceil_div(ceil_div(p->k, t->split), b->tile_k);
    t->k = t->slabs * b->tile_k;
    b->tiles = t->grid_m * t->grid_n * p->batch * t->split;
    b->resident = t->sms * b->blocks_per_sm;
    return refuse_resources(b, t);
}

static void add_waves(struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct traits *traits = t->in->traits;
    int64_t full_waves = b->tiles / b->resident, rest = b->tiles % b->resident;
    b->full_waves = (double)full_waves;
    b->full = hopper_wave(b, t, b->resident);
    b->last = rest ? hopper_wave(b, t, rest) : b->full;
    double waves = b->full_waves + (rest ? 1 : 0);
    if (traits->split_k < 0 && b->tiles > b->resident) { // stream-K: no partial wave
        waves = b->full_waves = (double)b->tiles / (double)b->resident;
        b->last = b->full;
        rest = 0;
    }
    b->waves_ns = b->full_waves * b->full.time_ns + (rest ? b->last.time_ns : 0);
    b->clocked_ns = b->full_waves * b->full.clocked_ns + (rest ? b->last.clocked_ns : 0);
    b->overhead_ns =
        (waves * hopper_overhead_clk(b, t) + most(waves - 1, 0) * hopper_restart_clk(b, t)) /
        t->clock * 1e9;
    b->clocked_ns += b->overhead_ns;
}

static void add_ends(struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct gpu *gpu = t->gpu;
    double ending = least((double)b->tiles, (double)b->resident);
    double tile = (double)b->tile_m * b->tile_n;
    b->launch_ns = gpu->launch_s.value * 1e9;
    if (gpu->overhead_clk.value > 0 && gpu->clock_hz.value > 0) // not a matter of the SM clock
        b->launch_ns = gpu->overhead_clk.value / gpu->clock_hz.value * 1e9;
    if (t->simt) {
        b->fill_ns = gpu->dram_latency_clk.value / t->clock * 1e9;
        b->clocked_ns += b->fill_ns;
    } else {
        b->fill_ns = t->tensor ? (fill_s + (t->cluster > 1 ? cluster_s : 0)) * 1e9 : 0;
    }
    double written =
        least(ending * tile / t->split,
              (double)t->in->problem->m * (double)t->in->problem->n * t->in->problem->batch) *
        t->bytes_out;
    b->store_ns = (store_clk / t->clock + written / (gpu->dram_bytes_s.value * store_rate)) * 1e9;
    b->clocked_ns += store_clk / t->clock * 1e9;
    if (t->in->traits->split_k < 0 || (t->simt && t->split > 1)) { // partial results meet in L2
        double partials = 2 * ending * tile * 4;
        double l2_s = gpu->l2_bytes_clk.value > 0 ? gpu->l2_bytes_clk.value * t->clock
                                                  : gpu->dram_bytes_s.value;
        b->split_ns = (split_s + partials / l2_s) * 1e9;
        if (t->split == 1) // stream-K: only the tiles that two blocks share
            b->split_ns *= 0.5;
        if (gpu->l2_bytes_clk.value > 0)
            b->clocked_ns += b->split_ns * (partials / l2_s) / (split_s + partials / l2_s);
    }
    b->time_ns =
        b->launch_ns + b->fill_ns + b->waves_ns + b->overhead_ns + b->store_ns + b->split_ns;
}

static void run_at(struct hopper_breakdown *b, struct hopper_terms *t, double clock_hz)
{
    t->clock = b->clock_hz = clock_hz;
    b->split_ns = 0;
    add_waves(b, t);
    add_ends(b, t);
}

static const char *predict(struct hopper_breakdown *out, const struct predict_input *in)
{
    const struct gpu *gpu = in->gpu;
    double clock = in->clock_hz > 0 ? in->clock_hz : gpu->clock_hz.value;
    struct hopper_terms t = {.in = in, .gpu = gpu, .clock = clock};
    struct hopper_breakdown b = {.clock_hz = clock};
    const char *why = set_up(&b, &t);
    if (why)
        return why;
    run_at(&b, &t, clock);
    if (!(in->clock_hz > 0)) {
        // Time and clock depend on each other; one correction is within 1 % of the fixed point.
        double math_ns = b.full_waves * b.full.limits_ns[HOPPER_MATH];
        if (b.tiles % b.resident)
            math_ns += b.last.limits_ns[HOPPER_MATH];
        clock = hopper_clock_hz(gpu, in->problem->in, math_ns, b.time_ns);
        if (clock != b.clock_hz)
            run_at(&b, &t, clock);
    }
    *out = b;
    return NULL;
}

const char *hopper(struct hopper_breakdown *out, const struct predict_input *in)
{
    struct predict_input library = *in;
    struct traits traits = *in->traits;
    if (!simt_applies(in) || (traits.tile_m > 0 && traits.tile_n > 0))
        return predict(out, in);
    simt_library(&traits, in);
    library.traits = &traits;
    return predict(out, &library);
}
