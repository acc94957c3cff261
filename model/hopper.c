// SPDX-License-Identifier: Apache-2.0
#include "model/hopper.h"

#include "model/cutlass.h"
#include "model/streamk.h"

#include <math.h>

// Fitted; see hopper.h. Clocks unless the name says seconds.
static const double one_group_floor = 43, one_group_slope = 0.40; // of an instruction, per N
static const double groups_floor = 43.5, groups_slope = 0.127;
static const double port_bytes_clk = 72, chip_bytes_clk = 93; // L2, per SM
static const double straddle = 1.87; // further cost of a row chunk that lies in two lines
static const double in_flight_s = 1.28e-6, fill_s = 1.87e-6, cluster_s = 1.1e-6;
static const double tile_clk = 327, tile_area_clk = 100; // per 1024 outputs of a warpgroup
static const double restart_clk = 500, scattered_area_clk = 400;
static const double zero_rows_clk = 13;
static const double reduce_clk = 2170, reduce_kib_clk = 67;
static const double store_clk = 1630, store_rate = 0.73;  // of the DRAM rate
static const double split_s = 1.1e-6, l2_resident = 0.64; // 40 MB of 60 MiB
static const double shared_reserve = 1024;                // of each block, taken by the system
enum { ROWS = 64, STEP_BYTES = 32, LINE_BYTES = 128, STORE_BYTES = 16, CLUSTER_MOST = 16 };
enum { REGISTERS_MOST = 255, REGISTERS_KEPT = 24 };

static const char *const limits[] = {"math", "issue", "zeros", "l2", "dram"};

const char *hopper_limit_name(enum hopper_limit limit)
{
    return limits[limit];
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

static double fifth_power(double x)
{
    return x * x * (x * x) * x;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int32_t or_default(int32_t value, int32_t otherwise)
{
    return value > 0 ? value : otherwise;
}

// All that is fixed for a problem and kernel.
struct terms {
    const struct predict_input *in;
    const struct gpu *gpu;
    double clock, bytes_in, bytes_out, flops_clk;
    bool tensor;            // multiplied by tensor cores
    int64_t grid_m, grid_n; // tiles, padded to whole clusters
    int64_t sms;            // SMs that clusters of this size can fill
    int32_t cluster_m, cluster_n, cluster, warpgroups, split;
    double k, slabs; // of one block: padded, and counted
};

static int32_t math_warpgroups(const struct traits *t, int32_t tile_m)
{
    if (t->threads >= 256)
        return t->threads / 128 - 1; // one warpgroup loads
    return t->threads || tile_m <= ROWS ? 1 : 2;
}

static const char *refuse_shape(const struct hopper_breakdown *b, const struct terms *t)
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

static const char *refuse_profile(const struct terms *t)
{
    if (!(t->gpu->sm_count.value >= 1) || !(t->clock > 0) || !(t->gpu->dram_bytes_s.value > 0))
        return "the profile lacks SMs, clock or DRAM bandwidth";
    if (!(t->flops_clk > 0))
        return "the profile has no rate for this element type";
    if (t->sms < 1)
        return "the cluster does not fit into a GPC";
    return NULL;
}

static const char *refuse_resources(const struct hopper_breakdown *b, const struct terms *t)
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

static void choose_stages(struct hopper_breakdown *b, const struct terms *t)
{
    double slab = ((double)b->tile_m + b->tile_n) * b->tile_k * t->bytes_in;
    double room = t->gpu->smem_bytes.value - (double)b->tile_m * b->tile_n * t->bytes_out;
    b->stages = t->in->traits->stages;
    if (b->stages <= 0)
        b->stages = (int32_t)most(2, least(8, floor(room / slab)));
}

static void choose_occupancy(struct hopper_breakdown *b, const struct terms *t)
{
    const struct traits *traits = t->in->traits;
    double blocks = traits->blocks_per_sm;
    if (blocks <= 0) {
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
static int32_t streamk_split(const struct hopper_breakdown *b, const struct terms *t)
{
    const struct problem *p = t->in->problem;
    struct streamk_shape shape = streamk_shape(p, b->tile_m, b->tile_n, b->tile_k);
    return shape.tiles < t->sms ? (int32_t)(streamk_grid(&shape, t->sms) / shape.tiles) : 1;
}

static const char *set_up(struct hopper_breakdown *b, struct terms *t)
{
    const struct problem *p = t->in->problem;
    const struct traits *traits = t->in->traits;
    t->tensor = p->in != DTYPE_FP32 && p->in != DTYPE_FP64;
    t->bytes_in = dtype_bytes(p->in);
    t->bytes_out = dtype_bytes(p->out);
    t->flops_clk = gpu_flops_clk(t->gpu, p->in);
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

// The rectangle of the tile grid that `tiles` output tiles in raster order cover.
static void lay_raster(struct hopper_wave *w, const struct terms *t, double tiles)
{
    const struct traits *traits = t->in->traits;
    double m = (double)t->grid_m, n = (double)t->grid_n;
    bool along_m = traits->raster == RASTER_M;
    double along = along_m ? m : n, group = traits->raster_group;
    if (traits->raster == RASTER_HILBERT)
        group = ceil(sqrt(tiles));
    else if (traits->raster_group <= 0) // unknown: as CUTLASS would walk
        group = 1 << cutlass_log_swizzle(t->grid_m, t->grid_n, 8);
    else if (traits->raster_group == 1)
        group = along;
    group = least(most(group, 1), along);
    double side = least(group, tiles), other = least(ceil(tiles / group), along_m ? n : m);
    w->rows = along_m ? side : other;
    w->columns = along_m ? other : side;
}

static double new_dram_bytes(const struct hopper_breakdown *b, const struct hopper_wave *w,
                             const struct terms *t)
{
    const struct problem *p = t->in->problem;
    double depth = t->k * t->split * t->bytes_in;
    double all = ((double)p->m + (double)p->n) * (double)p->k * t->bytes_in * p->batch;
    double touched = least((w->rows * b->tile_m + w->columns * b->tile_n) * depth, all);
    double share = all * least(1, (double)w->blocks / (double)b->tiles);
    double kept =
        t->gpu->l2_bytes.value > 0 ? least(1, l2_resident * t->gpu->l2_bytes.value / all) : 0;
    return most(share, share * kept + touched * (1 - kept));
}

// While a wave loads and multiplies, the tiles of the one before it are written.
static double stored_bytes(const struct hopper_breakdown *b, const struct terms *t)
{
    const struct problem *p = t->in->problem;
    double all = (double)p->m * (double)p->n * p->batch * t->bytes_out;
    return b->tiles > b->resident ? all * (double)b->resident / (double)b->tiles : 0;
}

// One block's multiplications at the peak rate, rows padded to the instruction's 64.
static double math_clk(const struct hopper_breakdown *b, const struct terms *t)
{
    double m = b->tile_m;
    if (t->tensor && b->tile_m % ROWS && b->tile_n % ROWS)
        m = ceil(m / ROWS) * ROWS;
    return 2 * m * b->tile_n * t->k / t->flops_clk;
}

// The same as instructions of 64 x N x 32 bytes, none faster than its operands arrive.
static double issue_clk(const struct hopper_breakdown *b, const struct terms *t)
{
    double n = b->tile_n, count = ceil(b->tile_m / (double)ROWS);
    if (b->tile_m % ROWS && b->tile_n % ROWS == 0) { // the 64 rows run along N
        n = b->tile_m;
        count = b->tile_n / ROWS;
    } else if (b->tile_m <= ROWS && t->warpgroups > 1) { // warpgroups side by side along N
        n /= t->warpgroups;
        count = t->warpgroups;
    }
    bool alone = t->warpgroups == 1;
    double least_clk =
        alone ? one_group_floor + one_group_slope * n : groups_floor + groups_slope * n;
    double steps = t->k * t->bytes_in / STEP_BYTES;
    return steps * count * most(n / 2, least_clk);
}

// How many lines of L2 a 128-byte chunk of an operand row lies in, on average.
static double lines_per_chunk(const struct terms *t)
{
    int64_t shift = (int64_t)((double)t->in->problem->k * t->bytes_in) % LINE_BYTES;
    if (shift == 0)
        return 1;
    return 2 - (double)(shift & -shift) / LINE_BYTES; // the lowest bit is the greatest divisor
}

static double l2_clk(const struct hopper_breakdown *b, const struct hopper_wave *w,
                     const struct terms *t, double blocks_sm)
{
    double rows = (double)b->tile_m / t->cluster_n + (double)b->tile_n / t->cluster_m;
    double asked = rows * t->k * t->bytes_in;
    double lines = 1 + (lines_per_chunk(t) - 1) * straddle;
    double busy = (double)w->blocks / (double)t->sms;
    return most(blocks_sm * asked / port_bytes_clk, busy * asked * lines / chip_bytes_clk);
}

// Rows past the matrix's edge come as zeros, but the whole chip makes only some ten of them a
// clock.
static double zeros_clk(const struct hopper_breakdown *b, const struct hopper_wave *w,
                        const struct terms *t)
{
    const struct problem *p = t->in->problem;
    double m = (double)(t->grid_m * b->tile_m - p->m) / (double)t->grid_m;
    double n = (double)(t->grid_n * b->tile_n - p->n) / (double)t->grid_n;
    // A block on its own can ask for no more rows than the matrix has; those of a cluster cannot.
    bool alone = t->cluster_m * t->cluster_n == 1;
    if (alone && t->grid_m == 1)
        m = 0;
    if (alone && t->grid_n == 1)
        n = 0;
    return t->slabs * (double)w->blocks * (m + n) / zero_rows_clk;
}

static double dram_ns(const struct hopper_breakdown *b, const struct hopper_wave *w,
                      const struct terms *t)
{
    const struct problem *p = t->in->problem;
    double rows = least(b->tile_m, (double)p->m) + least(b->tile_n, (double)p->n);
    double flying = (double)w->blocks * least(b->stages, t->slabs) * rows * b->tile_k * t->bytes_in;
    double moved = w->dram_bytes + stored_bytes(b, t);
    return most(moved / t->gpu->dram_bytes_s.value, w->dram_bytes / (flying / in_flight_s)) * 1e9;
}

static void add_limits(struct hopper_wave *w)
{
    double sum = 0;
    for (int i = 0; i < HOPPER_LIMITS; i++) {
        if (w->limits_ns[i] > w->limits_ns[w->limit])
            w->limit = (enum hopper_limit)i;
    }
    // Math and issue are one pipe seen twice: only the longer counts.
    double pipe = most(w->limits_ns[HOPPER_MATH], w->limits_ns[HOPPER_ISSUE]);
    double scale = w->limits_ns[w->limit]; // keeps the powers in range
    for (int i = HOPPER_ZEROS; i < HOPPER_LIMITS; i++)
        sum += fifth_power(w->limits_ns[i] / scale);
    double all = sum + fifth_power(pipe / scale);
    w->time_ns = scale * pow(all, 0.2);
    // d log time / d log clock: the share of the limits that go with the clock.
    w->clocked_ns = w->time_ns * (1 - fifth_power(w->limits_ns[HOPPER_DRAM] / scale) / all);
}

static struct hopper_wave wave(const struct hopper_breakdown *b, const struct terms *t,
                               int64_t blocks)
{
    struct hopper_wave w = {.blocks = blocks};
    double ns = 1e9 / t->clock;
    double blocks_sm = ceil((double)blocks / (double)t->sms);
    lay_raster(&w, t, ceil((double)blocks / t->split));
    w.dram_bytes = new_dram_bytes(b, &w, t);
    w.limits_ns[HOPPER_MATH] = blocks_sm * math_clk(b, t) * ns;
    if (t->tensor) {
        w.limits_ns[HOPPER_ISSUE] = blocks_sm * issue_clk(b, t) * ns;
        w.limits_ns[HOPPER_ZEROS] = zeros_clk(b, &w, t) * ns;
    }
    if (t->gpu->l2_bytes_clk.value > 0)
        w.limits_ns[HOPPER_L2] = l2_clk(b, &w, t, blocks_sm) * ns;
    w.limits_ns[HOPPER_DRAM] = dram_ns(b, &w, t);
    add_limits(&w);
    return w;
}

// What of a tile's end and the next one's start does not overlap.
static double overhead_clk(const struct hopper_breakdown *b, const struct terms *t)
{
    const struct problem *p = t->in->problem;
    double area = (double)b->tile_m * b->tile_n / 1024;
    double clk = tile_clk + tile_area_clk * area / t->warpgroups;
    if (!t->in->traits->persistent)
        clk += restart_clk;
    if (fmod((double)p->n * t->bytes_out, STORE_BYTES) != 0) // no bulk store: element by element
        clk += scattered_area_clk * area;
    if (t->split > 1)
        clk += reduce_clk + reduce_kib_clk * area * 4 * (t->split - 1) / t->split;
    return clk;
}

static void add_waves(struct hopper_breakdown *b, const struct terms *t)
{
    const struct traits *traits = t->in->traits;
    b->full_waves = (double)(b->tiles / b->resident);
    int64_t rest = b->tiles % b->resident;
    b->full = wave(b, t, b->resident);
    b->last = rest ? wave(b, t, rest) : b->full;
    double waves = b->full_waves + (rest ? 1 : 0);
    if (traits->split_k < 0 && b->tiles > b->resident) { // stream-K: no partial wave
        waves = b->full_waves = (double)b->tiles / (double)b->resident;
        b->last = b->full;
        rest = 0;
    }
    b->waves_ns = b->full_waves * b->full.time_ns + (rest ? b->last.time_ns : 0);
    b->clocked_ns = b->full_waves * b->full.clocked_ns + (rest ? b->last.clocked_ns : 0);
    b->overhead_ns = waves * overhead_clk(b, t) / t->clock * 1e9;
    b->clocked_ns += b->overhead_ns;
}

static void add_ends(struct hopper_breakdown *b, const struct terms *t)
{
    const struct gpu *gpu = t->gpu;
    double ending = least((double)b->tiles, (double)b->resident);
    double tile = (double)b->tile_m * b->tile_n;
    b->launch_ns = gpu->launch_s.value * 1e9;
    if (gpu->overhead_clk.value > 0 && gpu->clock_hz.value > 0) // not a matter of the SM clock
        b->launch_ns = gpu->overhead_clk.value / gpu->clock_hz.value * 1e9;
    b->fill_ns = t->tensor ? (fill_s + (t->cluster > 1 ? cluster_s : 0)) * 1e9 : 0;
    double written =
        least(ending * tile / t->split,
              (double)t->in->problem->m * (double)t->in->problem->n * t->in->problem->batch) *
        t->bytes_out;
    b->store_ns = (store_clk / t->clock + written / (gpu->dram_bytes_s.value * store_rate)) * 1e9;
    b->clocked_ns += store_clk / t->clock * 1e9;
    if (t->in->traits->split_k < 0) { // stream-K: partial results meet in L2
        double partials = 2 * ending * tile * 4;
        double l2_s = gpu->l2_bytes_clk.value > 0 ? gpu->l2_bytes_clk.value * t->clock
                                                  : gpu->dram_bytes_s.value;
        b->split_ns = (split_s + partials / l2_s) * 1e9;
        if (t->split == 1) // only the tiles that two blocks share
            b->split_ns *= 0.5;
        if (gpu->l2_bytes_clk.value > 0)
            b->clocked_ns += b->split_ns * (partials / l2_s) / (split_s + partials / l2_s);
    }
    b->time_ns =
        b->launch_ns + b->fill_ns + b->waves_ns + b->overhead_ns + b->store_ns + b->split_ns;
}

static void run_at(struct hopper_breakdown *b, struct terms *t, double clock_hz)
{
    t->clock = b->clock_hz = clock_hz;
    b->split_ns = 0;
    add_waves(b, t);
    add_ends(b, t);
}

static double cap_clock(const struct gpu *gpu, enum dtype in)
{
    switch (in) {
    case DTYPE_TF32:
        return gpu->cap_clock_tf32_hz.value;
    case DTYPE_BF16:
    case DTYPE_FP16:
        return gpu->cap_clock_fp16_hz.value;
    case DTYPE_E4M3:
    case DTYPE_E5M2:
        return gpu->cap_clock_fp8_hz.value;
    default:
        return 0;
    }
}

double hopper_clock_hz(const struct gpu *gpu, enum dtype in, double math_ns, double time_ns)
{
    // Read off clocks inside cuBLASLt's kernels on an H200: 1.86 GHz idle, 1.70 at full load before
    // the power limit acts, and the cap after some 500 us of multiplying.
    const double idle = 0.94, droop = 0.10, tau_ns = 500e3;
    double cap = cap_clock(gpu, in), high = gpu->clock_max_hz.value;
    if (!(cap > 0) || !(high > 0))
        return gpu->clock_hz.value;
    double start = high * (idle - droop * least(1, math_ns / time_ns));
    return start <= cap ? start : cap + (start - cap) * exp(-math_ns / tau_ns);
}

const char *hopper(struct hopper_breakdown *out, const struct predict_input *in)
{
    const struct gpu *gpu = in->gpu;
    double clock = in->clock_hz > 0 ? in->clock_hz : gpu->clock_hz.value;
    struct terms t = {.in = in, .gpu = gpu, .clock = clock};
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
        run_at(&b, &t, hopper_clock_hz(gpu, in->problem->in, math_ns, b.time_ns));
    }
    *out = b;
    return NULL;
}
