// SPDX-License-Identifier: Apache-2.0
//
// The model `hopper` from problem and traits to time: what fits, the main loop's parts together,
// and both ends. What a block takes is hopper_block.c or simt.c, what the chip moves hopper_chip.c,
// the clock hopper_clock.c.
#include "model/predict/parts/arithmetic.h"
#include "model/predict/parts/hopper_terms.h"

#include "model/predict/parts/cutlass.h"
#include "model/predict/parts/simt.h"

#include <math.h>

static const double simt_store_clk = 1900; // of kernels without bulk copies
static const double shared_reserve = 1024; // of each block, taken by the system
enum { ROWS = 64, CLUSTER_MOST = 16, REGISTERS_MOST = 255, REGISTERS_KEPT = 24 };
enum { SOFT_L2 = 8, SOFT_DRAM = 4 }; // exponents of the soft maxima
enum { LINE_BYTES = 128, STORE_BYTES = 16 };

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

static const char *refuse_product(const struct hopper_terms *t)
{
    if (t->simt && t->weights > 1)
        return "two products at once are not known of kernels without wgmma";
    if (t->simt && t->in->problem->scales.vector > 0)
        return "block scales are not known of kernels without wgmma";
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
    double accumulators = (double)b->tile_m * b->tile_n * t->weights / (128.0 * t->warpgroups);
    if (t->tensor && !t->blackwell && traits->registers <= 0 &&
        accumulators + REGISTERS_KEPT > REGISTERS_MOST)
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

// Promoted sums of an instruction as wide as the tile's M need registers beside the accumulators.
static bool partial_sums_fit(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    double accumulators = (double)b->tile_m * b->tile_n / (128.0 * t->warpgroups);
    double partial = t->in->traits->promote_k > 0 ? b->tile_m / 2.0 : 0;
    return accumulators + partial + REGISTERS_KEPT <= REGISTERS_MOST;
}

// Along which side of the tile the instruction's 64 rows lie: along M, unless only N has them. Of
// groups along N (grouped.cuh), unless what is promoted would not fit so.
static bool operands_swapped(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    if (b->tile_n % ROWS != 0)
        return false;
    if (t->in->problem->groups.kind)
        return partial_sums_fit(b, t);
    return b->tile_m % ROWS != 0 ||
           (t->warpgroups == 1 && b->tile_m > ROWS && b->tile_m > b->tile_n);
}

// What a chunk of an operand row costs L2, by the largest power of two that rows and slabs are
// multiples of: whole lines lie in one each.
static double line_cost(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    int64_t pitch = (int64_t)((double)t->in->problem->k * t->bytes_in);
    int64_t begins = pitch | (int64_t)(b->tile_k * t->bytes_in), power = begins & -begins;
    return power % LINE_BYTES == 0         ? 1
           : power % (LINE_BYTES / 2) == 0 ? t->fit->line_64
           : power % (LINE_BYTES / 4) == 0 ? t->fit->line_32
                                           : t->fit->line_16;
}

// SMs that clusters of this size fill at once.
static int64_t cluster_sms(const struct hopper_terms *t)
{
    const struct gpu *gpu = t->gpu;
    int32_t sms = (int32_t)gpu->sm_count.value;
    if (t->cluster == 3 && gpu->cluster3_sms.value > 0)
        return (int64_t)gpu->cluster3_sms.value;
    if (t->cluster == 4 && gpu->cluster4_sms.value > 0)
        return (int64_t)gpu->cluster4_sms.value;
    int32_t gpc = gpu->gpc_sms.value > 0 ? (int32_t)gpu->gpc_sms.value : sms;
    return cutlass_resident_blocks(gpc, t->cluster, sms);
}

static void read_kernel(struct hopper_breakdown *b, struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    const struct traits *traits = t->in->traits;
    t->tensor = p->in != DTYPE_FP32 && p->in != DTYPE_FP64;
    t->simt = simt_applies(t->in);
    t->weights = problem_weights(p);
    t->bytes_in = dtype_bytes(p->in);
    t->bytes_out = dtype_bytes(p->out);
    t->bytes_read = t->bytes_in;
    if (p->scales.vector > 0)
        t->bytes_read += dtype_bytes(p->scales.type) / p->scales.vector;
    t->blackwell = t->tensor && !t->simt && t->gpu->compute_capability.value >= 10;
    if (t->blackwell)
        t->fit = &blackwell_fitted;
    t->decodes = p->in == DTYPE_E2M1 && t->tensor && !t->blackwell && !t->simt;
    t->flops_clk = t->simt ? simt_flops_clk(t->in) : gpu_flops_clk(t->gpu, p->in);
    b->tile_m = or_default(traits->tile_m, 128);
    b->tile_n = or_default(traits->tile_n, 128);
    b->tile_k = or_default(traits->tile_k, (int32_t)(LINE_BYTES / t->bytes_in));
    t->cluster_m = or_default(traits->cluster_m, 1);
    t->cluster_n = or_default(traits->cluster_n, 1);
    t->split = or_default(traits->split_k, 1);
    t->warpgroups = math_warpgroups(traits, b->tile_m);
    t->together = traits->overlap == OVERLAP_PINGPONG ? 1 : t->warpgroups;
    t->swapped = t->tensor && !t->simt && operands_swapped(b, t);
}

static const char *set_up(struct hopper_breakdown *b, struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    const struct traits *traits = t->in->traits;
    read_kernel(b, t);
    const char *why = refuse_shape(b, t);
    if (why || (why = refuse_product(t)))
        return why;
    t->cluster = t->cluster_m * t->cluster_n;
    if (t->split > 1 && !traits->persistent && t->cluster * t->split <= CLUSTER_MOST)
        t->cluster *= t->split; // the blocks that share a tile exchange partial sums
    t->sms = cluster_sms(t);
    if ((why = refuse_profile(t)))
        return why;
    choose_stages(b, t);
    choose_occupancy(b, t);
    t->line = t->tensor ? line_cost(b, t) : 1;
    t->grid_m = ceil_div(p->m, (int64_t)b->tile_m * t->cluster_m) * t->cluster_m;
    t->grid_n = ceil_div(p->n, (int64_t)b->tile_n * t->cluster_n) * t->cluster_n;
    t->slabs = (double)ceil_div(ceil_div(p->k, b->tile_k), t->split);
    t->k = t->slabs * b->tile_k;
    t->products = p->batch;
    t->rows = (double)p->m * p->batch;
    t->columns = t->weights * (double)p->n * p->batch;
    t->tiles_m = (double)t->grid_m * p->batch;
    if ((t->as_they_come = p->groups.kind != GROUPS_NONE))
        hopper_lay_groups(b, t);
    b->blocks = (int64_t)t->tiles_m * t->grid_n * t->split;
    if (traits->split_k == SPLIT_SPREAD && b->blocks > t->sms)
        return "more tiles than SMs, over which K could be spread";
    if (traits->split_k == SPLIT_SPREAD)
        hopper_spread(b, t);
    b->resident = t->sms * (traits->split_k < 0 ? 1 : b->blocks_per_sm);
    return refuse_resources(b, t);
}

// How far measured times lie from predictions of this class of kernel and problem: half of q68 +
// q95 / 2 of |log(predicted / measured)| over baselines/recorded/h200/ladder/fit.* and
// accuracy/aligned.*, odd.*, each half of the problems predicted by what the other half gave
// (tests/measure/fit_hopper.c --folds); SIMT kernels from accuracy/fp32.csv. The first of each two
// is for even rows.
static double band_of(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    static const double wide[] = {0.043, 0.067}, narrow[] = {0.110, 0.090};
    static const double split[] = {0.079, 0.075}, stream[] = {0.128, 0.118}, simt = 0.12;
    if (t->simt || !t->tensor)
        return simt;
    if (t->blackwell) // of shapes left out of the fit, blackwell.c
        return t->bytes_in < 1 ? 0.15 : 0.08;
    bool alone = t->together == 1 && t->in->traits->overlap != OVERLAP_PINGPONG;
    const double *band = t->in->traits->split_k == SPLIT_STREAM ? stream
                         : t->split > 1                         ? split
                         : alone || b->blocks_per_sm > 1        ? narrow
                                                                : wide;
    return band[!b->even];
}

// The whole main loop, from the busiest SM and the chip.
static void add_main(struct hopper_breakdown *b, const struct hopper_terms *t)
{
    hopper_chip(b, t);
    if (t->simt) {
        simt_main(b, t);
        return;
    }
    if (t->blackwell)
        blackwell_blocks(b, t);
    else
        hopper_blocks(b, t);
    double chip_ns = hopper_soft_max(b->main_ns, b->limits_ns[HOPPER_L2], SOFT_L2);
    double all_ns = hopper_soft_max(chip_ns, b->limits_ns[HOPPER_DRAM], SOFT_DRAM);
    double share = all_ns / b->main_ns * hopper_soft_share(b->main_ns, chip_ns, SOFT_L2) *
                   hopper_soft_share(chip_ns, all_ns, SOFT_DRAM);
    b->clocked_ns *= share;
    b->main_ns = all_ns;
    b->clocked_ns += b->overhead_ns;
}

// Operands that wgmma reads along K only are turned first, by a kernel of their own.
static double transpose_ns(const struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    if (t->simt || !t->tensor || t->bytes_in == 2 || p->layout == LAYOUT_TN)
        return 0;
    bool a_along_m = p->layout == LAYOUT_NT || p->layout == LAYOUT_TT;
    bool b_along_n = p->layout == LAYOUT_NN || p->layout == LAYOUT_NT;
    double rows = (a_along_m ? (double)p->m : 0) + (b_along_n ? t->weights * (double)p->n : 0);
    double bytes = 2 * rows * (double)p->k * t->bytes_in * p->batch; // read and written
    double rate = t->gpu->dram_bytes_s.value * t->fit->transpose_rate;
    return (t->gpu->launch_s.value + bytes / rate) * 1e9;
}

// Partial results of a split that meet in memory, not in a cluster.
static void add_split(struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const int32_t split = t->in->traits->split_k;
    if (t->decodes && t->split > 1)
        b->split_ns = t->fit->decode_split_s * 1e9;
    if (split != SPLIT_SPREAD && (!t->simt || split == 0 || split == 1))
        return;
    // Fitted: of the kernels before this project's clusters, and of K spread over all SMs.
    const double meet_s = split == SPLIT_SPREAD ? 2.4e-6 : 1.1e-6;
    double ending = least((double)b->blocks, (double)b->resident);
    double partials = 2 * ending * b->tile_m * b->tile_n * sizeof(float);
    double l2_s = t->gpu->l2_bytes_clk.value * t->clock;
    double moved_s = partials / (l2_s > 0 ? l2_s : t->gpu->dram_bytes_s.value);
    b->split_ns = (meet_s + moved_s) * 1e9;
    if (l2_s > 0)
        b->clocked_ns += moved_s * 1e9;
}

static void add_ends(struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct gpu *gpu = t->gpu;
    bool bulk = t->tensor && !t->simt;
    double fill_clk = t->simt ? gpu->dram_latency_clk.value : bulk ? t->fit->fill_clk : 0;
    // The first loads come from L2.
    double nearer_clk = gpu->dram_latency_clk.value - gpu->l2_latency_clk.value;
    if (hopper_in_l2(t) && nearer_clk > 0)
        fill_clk = most(0, fill_clk - nearer_clk);
    double store_clk = t->blackwell ? blackwell_store_clk(b, t)
                       : bulk       ? t->fit->store_clk
                                    : simt_store_clk;
    b->launch_ns = gpu->launch_s.value * 1e9;
    if (gpu->overhead_clk.value > 0 && gpu->clock_hz.value > 0) // not a matter of the SM clock
        b->launch_ns = gpu->overhead_clk.value / gpu->clock_hz.value * 1e9;
    b->fill_ns = fill_clk / t->clock * 1e9;
    b->clocked_ns += b->fill_ns + store_clk / t->clock * 1e9;
    if (bulk && t->cluster > 1)
        b->fill_ns += t->fit->cluster_s * 1e9;
    double rate = gpu->dram_bytes_s.value * t->fit->store_rate;
    if (hopper_in_l2(t) && gpu->l2_bytes_clk.value > 0)
        rate = most(rate, gpu->l2_bytes_clk.value * gpu->clock_hz.value * t->fit->store_rate);
    b->store_ns = (store_clk / t->clock + hopper_last_stores(b, t) / rate) * 1e9;
    b->transpose_ns = transpose_ns(t);
    add_split(b, t);
    b->time_ns = b->launch_ns + b->fill_ns + b->main_ns + b->overhead_ns + b->store_ns +
                 b->split_ns + b->transpose_ns;
    for (int i = 0; i < HOPPER_LIMITS; i++) {
        if (b->limits_ns[i] > b->limits_ns[b->limit])
            b->limit = (enum hopper_limit)i;
    }
}

// Of the busiest SM, at the profile's clock: what the clock goes by.
static double multiplying_ns(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    double area = (double)b->tile_m * b->tile_n * t->weights;
    double each = ceil((double)b->blocks / (double)t->sms);
    return each * 2 * area * t->k / t->flops_clk / t->clock * 1e9;
}

const char *hopper_one(struct hopper_breakdown *out, const struct predict_input *in, bool library)
{
    const struct gpu *gpu = in->gpu;
    double clock = in->clock_hz > 0 ? in->clock_hz : gpu->clock_hz.value;
    struct hopper_terms t = {
        .in = in, .gpu = gpu, .fit = &hopper_fitted, .clock = clock, .library = library};
    struct hopper_breakdown b = {.clock_hz = clock};
    const char *why = set_up(&b, &t);
    if (why)
        return why;
    t.clock = b.clock_hz = clock;
    if (!(in->clock_hz > 0))
        t.clock = b.clock_hz = hopper_clock_hz(gpu, in->problem->in, multiplying_ns(&b, &t));
    add_main(&b, &t);
    add_ends(&b, &t);
    b.even = t.line <= 1 && fmod((double)in->problem->n * t.bytes_out, STORE_BYTES) == 0;
    b.band = band_of(&b, &t);
    *out = b;
    return NULL;
}

const char *hopper(struct hopper_breakdown *out, const struct predict_input *in)
{
    const struct traits *t = in->traits;
    bool device = in->gpu->registers.value > 0; // the host has no library with tiles
    if (device && (t->tile_m <= 0 || t->tile_n <= 0))
        return in->problem->groups.kind ? hopper_each_group(out, in) : hopper_library(out, in);
    if (device && !in->problem->groups.kind && hopper_may_halve(t, in->problem))
        return hopper_halves(out, in);
    return hopper_one(out, in, false);
}
