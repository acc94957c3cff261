// SPDX-License-Identifier: Apache-2.0
//
// A wave of a kernel whose threads load and multiply themselves takes the soft maximum (power mean
// of exponent 1.7) of what its fullest SM needs of each resource. Per step of one in K, a block of
// W warps with a tile tm x tn, of which a thread holds rm x rn = tm tn / (32 W) outputs (rm the
// power of two next to the square root):
//     math     2 tm tn / flops_clk
//     issue    one instruction per sub-partition and clock [1]: the multiply-adds, a load of each
//              operand (one for four neighbours), and four for each element staged in shared
//              memory (load, store, address, bounds)
//     shared   the one pipe of an SM for shared memory and L1: 128 bytes a clock [2], and for
//              global loads one 128-byte line a clock, however little of it a warp asks for [3].
//              Staged in shared memory: operands read, (rm + rn) b bytes a thread (mma.sync: each
//              warp its fragments once), slabs written, and the lines they are loaded from.
//              Straight from global memory: the lines a warp touches, which is one per row of an
//              operand that is contiguous along K (a naive kernel with a warp of 2 x 16: 18 clocks)
//     l2       all that blocks load, at the profile's rate
//     dram     what the wave reads anew (hopper.h) and writes
//     latency  of the longest warp. Staged, per slab: for each step its own multiplications, reads
//              and the wait for them; two barriers; its block's turn at the pipe. A load from L2
//              is waited for on top, or hidden behind the slab when another is in flight
//              (stages >= 2). Direct: compilers load four steps at once; such a group waits
//              for L2 if it touches a new 32-byte sector [3], else for L1.
// More resident blocks share the latency and add up in all the others: that is occupancy.
//
// [1] NVIDIA H100 whitepaper: four sub-partitions of 32 FP32 lanes, each issues one warp
//     instruction per clock; plumb calibrate measures 253 of 256 FLOP/clk.
// [2] Profile, smem_bytes_clk; latency 23 clocks: plumb calibrate on an H200 (recorded/h200).
// [3] L1 works on wavefronts, one per cycle, and fetches single 32-byte sectors on a miss: NVIDIA's
//     answers in forums.developer.nvidia.com/t/312884, /165293 and /49571. That a wavefront passes
//     on no more than one 128-byte line is what the recorded naive kernel shows: 18.05 clocks
//     per warp and step for 18 lines (the tag stage alone could resolve four in one).
//     L1 latency 40 clocks: measured on an H100, in the document whose ladder kernels/ climbs.
//
// Fitted, on every other of the ten problems of recorded/h200/fp32-run-1 (naive and tiled): the
// exponent, of 1.6, 1.7 .. 2 and 2.2, and whether loads wait for L2, for DRAM, or half each. With
// two resources equally busy 1.7 means 1.5 times the time of one: barriers leave no more overlap.
// Three and more slabs in flight overlap as hopper.h's pipelines do, with exponent 5; cuBLASLt's
// large problems agree. Figures, and what they are worth: recorded/h200/accuracy/README.md.
// Bank conflicts are not in the traits, and so not here: kernels without them are meant.
#include "model/predict/parts/simt.h"

#include "model/predict/parts/occupancy.h"

#include <math.h>

static const double exponent = 1.7, pipelined = 5;
static const double sub_partitions = 4, warp = 32;
static const double line_bytes = 128, sector_bytes = 32, fragment_bytes = 16; // of a row, mma.sync
static const double shared_latency_clk = 23, l1_latency_clk = 40;
static const double copy_instructions = 4, vector = 4, unrolled = 4;
static const double kept_registers = 24; // addresses and loop state, as in hopper.c
enum { THREADS_DEFAULT = 256, REGISTERS_MOST = 255 };

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

static bool by_mma(const struct predict_input *in)
{
    return in->traits->multiply == MULTIPLY_MMA;
}

bool simt_applies(const struct predict_input *in)
{
    if (!(in->gpu->registers.value > 0) || !(in->gpu->smem_bytes_clk.value > 0))
        return false;
    enum dtype type = in->problem->in;
    return type == DTYPE_FP32 || type == DTYPE_FP64 || in->traits->multiply == MULTIPLY_FMA ||
           by_mma(in);
}

double simt_flops_clk(const struct predict_input *in)
{
    const struct gpu *gpu = in->gpu;
    if (!by_mma(in))
        return gpu_flops_clk(gpu, in->problem->in == DTYPE_FP64 ? DTYPE_FP64 : DTYPE_FP32);
    double rate = gpu_mma_sync_flops_clk(gpu, in->problem->in);
    return rate > 0 ? rate : gpu_flops_clk(gpu, in->problem->in);
}

// A library picks its tile by the problem: here the largest of three that leaves no SM idle, and K
// is split for those that still are.
void simt_library(struct traits *out, const struct predict_input *in)
{
    const struct problem *p = in->problem;
    double sms = in->gpu->sm_count.value, tiles = 0;
    int32_t side = 256;
    do {
        side /= 2;
        tiles = ceil((double)p->m / side) * ceil((double)p->n / side) * p->batch;
    } while (side > 32 && tiles < sms);
    out->tile_m = out->tile_n = side;
    out->tile_k = 16;
    out->threads = (int32_t)most(64, (double)side * side / 64);
    out->stages = 3;
    out->smem_bytes = out->stages * 2 * side * out->tile_k * (int32_t)dtype_bytes(p->in);
    double pieces = least(least(8, floor(sms / tiles)), floor((double)p->k / 128));
    if (out->split_k == 0)
        out->split_k = (int32_t)most(1, pieces);
}

// What a block is, per step of one in K unless the name says otherwise.
struct block {
    double warps, math, issue, pipe, chain;
};

// One side of a rectangle of this area: the power of two next to its square root.
static double side_of(double area)
{
    return area > 1 ? exp2(round(log2(area) / 2)) : 1;
}

static double warps_of(const struct traits *t)
{
    return ceil((t->threads > 0 ? t->threads : THREADS_DEFAULT) / warp);
}

int32_t simt_blocks_per_sm(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct traits *traits = t->in->traits;
    double each = (double)b->tile_m * b->tile_n / (warps_of(traits) * warp);
    double side = side_of(each), needed = each + 2 * (side + each / side) + kept_registers;
    int32_t registers =
        traits->registers > 0 ? traits->registers : (int32_t)least(needed, REGISTERS_MOST);
    return occupancy_of(t->gpu, (int32_t)(warps_of(traits) * warp), registers,
                        (int32_t)most(traits->smem_bytes, 0))
        .blocks;
}

// A is m rows of k in TN and NN, B is n rows of k in TN and TT.
static bool along_k(const struct problem *p, bool of_a)
{
    return p->layout == LAYOUT_TN || p->layout == (of_a ? LAYOUT_NN : LAYOUT_TT);
}

// Lines that a warp's loads of one step touch, when `lanes` of its threads lie along the operand
// and each needs `each` elements of it.
static double lines_touched(const struct hopper_terms *t, double lanes, double each, bool of_a)
{
    if (along_k(t->in->problem, of_a))
        return lanes * each;
    return each * ceil(lanes * t->bytes_in / line_bytes);
}

// Lines of a slab of one operand, per step.
static double lines_loaded(const struct hopper_breakdown *b, const struct hopper_terms *t,
                           double rows, bool of_a)
{
    if (along_k(t->in->problem, of_a))
        return rows * ceil(b->tile_k * t->bytes_in / line_bytes) / b->tile_k;
    return ceil(rows * t->bytes_in / line_bytes);
}

// Operands staged in shared memory slab by slab.
static void stage(struct block *o, const struct hopper_breakdown *b, const struct hopper_terms *t,
                  double read_bytes, double own)
{
    double sides = (double)b->tile_m + b->tile_n, port = t->gpu->smem_bytes_clk.value;
    double reads = read_bytes / port;
    double staging = sides * t->bytes_in / port + lines_loaded(b, t, b->tile_m, true) +
                     lines_loaded(b, t, b->tile_n, false);
    double depth = by_mma(t->in) ? sector_bytes / t->bytes_in : 1; // of K, per instruction
    double slab = b->tile_k * (own + reads / o->warps + shared_latency_clk / depth + staging) +
                  2 * shared_latency_clk;
    double wait = t->gpu->l2_latency_clk.value;
    o->issue += copy_instructions * sides / sub_partitions / warp;
    o->pipe = reads + staging;
    o->chain = (t->in->traits->stages == 1 ? slab + wait : most(slab, wait)) / b->tile_k;
}

// Operands straight from global memory, as far as the caches keep them.
static void load(struct block *o, const struct hopper_terms *t, double lines, double own)
{
    const struct problem *p = t->in->problem;
    bool by_k = along_k(p, true) && along_k(p, false);
    double depth = by_mma(t->in) ? sector_bytes / t->bytes_in : unrolled;
    double missing = by_k ? least(1, depth * t->bytes_in / sector_bytes) : 1;
    o->pipe = lines * o->warps;
    o->chain =
        own + (missing * t->gpu->l2_latency_clk.value + (1 - missing) * l1_latency_clk) / depth;
}

static struct block block_of(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct traits *traits = t->in->traits;
    struct block o = {.warps = warps_of(traits)};
    double area = (double)b->tile_m * b->tile_n, outputs = area / (o.warps * warp);
    bool mma = by_mma(t->in), staged = traits->smem_bytes > 0;
    // A thread's outputs, or a warp's when fragments are shared by it.
    double rows = least(side_of(mma ? area / o.warps : outputs), b->tile_m);
    double columns = most(1, (mma ? area / o.warps : outputs) / rows);
    double readers = mma ? o.warps : o.warps * warp;
    double loads = (rows + columns) / (mma ? warp : fmod(rows, vector) == 0 && staged ? vector : 1);
    o.math = 2 * area / t->flops_clk;
    o.issue = ((mma ? 0 : outputs) + loads) * o.warps / sub_partitions;
    double own = o.math * sub_partitions / o.warps + loads;
    if (staged) {
        stage(&o, b, t, (rows + columns) * t->bytes_in * readers, own);
    } else if (mma) { // a fragment's request: 16 bytes of each of eight rows
        load(&o, t, (rows + columns) * t->bytes_in / fragment_bytes, own);
    } else {
        double across = least(warp, ceil(b->tile_n / columns)); // lanes along a row of C
        double lines = lines_touched(t, ceil(warp / across), rows, true) +
                       lines_touched(t, across, columns, false);
        load(&o, t, lines, own);
    }
    return o;
}

static double raised(double x, double power)
{
    return x > 0 ? pow(x, power) : 0;
}

static void add_limits(struct hopper_wave *w, double power)
{
    for (int i = 0; i < HOPPER_LIMITS; i++) {
        if (w->limits_ns[i] > w->limits_ns[w->limit])
            w->limit = (enum hopper_limit)i;
    }
    double scale = w->limits_ns[w->limit]; // keeps the powers in range
    double dram = raised(w->limits_ns[HOPPER_DRAM] / scale, power), all = dram;
    // Math and issue are one pipe seen twice: only the longer counts.
    all += raised(most(w->limits_ns[HOPPER_MATH], w->limits_ns[HOPPER_ISSUE]) / scale, power);
    all += raised(w->limits_ns[HOPPER_SHARED] / scale, power);
    all += raised(w->limits_ns[HOPPER_L2] / scale, power);
    all += raised(w->limits_ns[HOPPER_LATENCY] / scale, power);
    w->time_ns = scale * pow(all, 1 / power);
    w->clocked_ns = w->time_ns * (1 - dram / all);
}

struct hopper_wave simt_wave(const struct hopper_breakdown *b, const struct hopper_terms *t,
                             int64_t blocks)
{
    struct hopper_wave w = {.blocks = blocks};
    struct block block = block_of(b, t);
    double ns = t->k * 1e9 / t->clock; // of one clock per step
    double blocks_sm = ceil((double)blocks / (double)t->sms);
    double asked = (double)blocks * ((double)b->tile_m + b->tile_n) * t->bytes_in;
    hopper_lay_raster(&w, t, ceil((double)blocks / t->split));
    w.dram_bytes = hopper_new_dram_bytes(b, &w, t);
    w.limits_ns[HOPPER_MATH] = blocks_sm * block.math * ns;
    w.limits_ns[HOPPER_ISSUE] = blocks_sm * block.issue * ns;
    w.limits_ns[HOPPER_SHARED] = blocks_sm * block.pipe * ns;
    w.limits_ns[HOPPER_LATENCY] = block.chain * ns;
    if (t->gpu->l2_bytes_clk.value > 0)
        w.limits_ns[HOPPER_L2] = asked / t->gpu->l2_bytes_clk.value * ns;
    const struct problem *p = t->in->problem;
    double stored =
        (double)p->m * (double)p->n * p->batch * t->bytes_out * (double)blocks / (double)b->tiles;
    w.limits_ns[HOPPER_DRAM] = (w.dram_bytes + stored) / t->gpu->dram_bytes_s.value * 1e9;
    add_limits(&w, b->stages >= 3 ? pipelined : exponent);
    return w;
}
