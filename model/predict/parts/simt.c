// SPDX-License-Identifier: Apache-2.0
//
// Predicts a kernel whose own threads load operands and multiply them, by SIMT instructions or by
// mma.sync. The block's time is a soft maximum (a power mean of exponent 1.7) over what its fullest
// SM needs of each resource in the table. A block of W warps computes a tile of tm x tn outputs;
// each thread holds rm x rn = tm tn / (32 W) of them, and rm is the power of two next to the square
// root of that product. The costs are per step of one in K:
//     math     2 tm tn / flops_clk
//     issue    one instruction per sub-partition and clock [1]: the multiply-adds, a load of each
//              operand (one for four neighbours), and four for each element staged in shared
//              memory (load, store, address, bounds)
//     shared   the one pipe of an SM for shared memory and L1: 128 bytes a clock [2], and for
//              global loads one 128-byte line a clock, however little of it a warp asks for [3].
//              Staged in shared memory: operands read, (rm + rn) b bytes a thread (mma.sync: each
//              warp its fragments once), slabs written, and the lines they are loaded from.
//              Straight from global memory: the lines a warp touches, which is one per row of an
//              operand that is contiguous along K (a naive kernel with a warp of 2 x 16: 18
//              clocks). A warp whose lanes lie along K (a slab of 512 bytes and more) touches whole
//              lines.
//     l2       all that blocks load, at the profile's rate
//     dram     what is read and written (hopper.h)
//     latency  of the longest warp. Staged, per slab: for each step its own multiplications, reads
//              and the wait for them; two barriers; its block's turn at the pipe. A load from L2
//              is waited for on top, or hidden behind the slab when another is in flight
//              (stages >= 2). Direct: compilers load four steps at once; such a group waits
//              for L2 if it touches a new 32-byte sector [3], else for L1.
// Resident blocks of one SM share the latency, and their needs of every other resource add up: that
// is how occupancy enters.
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
// Two things were fitted on every other of the ten problems of recorded/h200/fp32-run-1 (naive and
// tiled kernels): the exponent, out of 1.6, 1.7 .. 2 and 2.2, and whether loads wait for L2, for
// DRAM, or half for each. An exponent of 1.7 means that two equally busy resources take 1.5 times
// the time of one: barriers leave no more overlap. Kernels with three and more slabs in flight copy
// them without the threads, which read the next step's operands while they multiply; their
// resources overlap as hopper.h's pipelines do, with exponent 5, and they reach 0.9 of the
// multipliers, as cuBLASLt does on the large problems of that run. Streaming kernels (m = 1) have
// exponent 2.3, out of 1.7, 2, 2.2 .. 2.6 and 3, fitted on the four rows with m = 1 of
// recorded/h200/ladder/fit.*, within 4 %: they have no barrier, but each warp's loads stand still
// while it multiplies. How good these figures are: recorded/h200/accuracy/README.md. The traits say
// nothing of bank conflicts, so the model assumes kernels without them.
#include "model/predict/hopper.h"

#include "model/predict/parts/arithmetic.h"
#include "model/predict/parts/limits.h"

#include <math.h>

static const double exponent = 1.7, pipelined = 5, streaming = 2.3;
// The share of the multipliers that kernels with asynchronous copies reach.
static const double reached = 0.9;
static const double fp8_conversion = 2; // a pair converts at half rate, then each half becomes FP32

static const double sub_partitions = 4, warp = 32;
// A row of an mma.sync fragment has fragment_bytes.
static const double line_bytes = 128, sector_bytes = 32, fragment_bytes = 16;
static const double shared_latency_clk = 23, l1_latency_clk = 40;
static const double copy_instructions = 4, vector = 4, unrolled = 4;
static const double kept_registers = 24; // registers for addresses and loop state, as in hopper.c
enum { THREADS_DEFAULT = 256, REGISTERS_MOST = 255, ASYNCHRONOUS = 3 };

// Does the kernel feed tensor cores from registers (mma.sync)? GPUs before Hopper have no other
// way, whatever the traits say.
static bool by_mma(const struct predict_input *in)
{
    enum dtype type = in->problem->in;
    double capability = in->gpu->compute_capability.value;
    if (type == DTYPE_FP32 || type == DTYPE_FP64 || in->traits->multiply == MULTIPLY_FMA)
        return in->traits->multiply == MULTIPLY_MMA;
    return in->traits->multiply == MULTIPLY_MMA || (capability > 0 && capability < 9);
}

bool simt_applies(const struct predict_input *in)
{
    if (!(in->gpu->registers.value > 0) || !(in->gpu->smem_bytes_clk.value > 0))
        return false;
    enum dtype type = in->problem->in;
    return type == DTYPE_FP32 || type == DTYPE_FP64 || in->traits->multiply == MULTIPLY_FMA ||
           by_mma(in);
}

// FLOP per clock of an SM by mma.sync, which is slower than wgmma; 0 where the profile has no rate
// of its own for mma.sync.
static double mma_sync_flops_clk(const struct gpu *gpu, enum dtype in)
{
    switch (in) {
    case DTYPE_TF32:
        return gpu->mma_sync_flops_clk_tf32.value;
    case DTYPE_BF16:
    case DTYPE_FP16:
    case DTYPE_E2M1: // is decoded to 16 bits first
        return gpu->mma_sync_flops_clk_fp16.value;
    case DTYPE_E4M3:
    case DTYPE_E5M2:
        return gpu->mma_sync_flops_clk_fp8.value;
    default:
        return 0;
    }
}

double simt_flops_clk(const struct predict_input *in)
{
    const struct gpu *gpu = in->gpu;
    if (!by_mma(in))
        return gpu_flops_clk(gpu, in->problem->in == DTYPE_FP64 ? DTYPE_FP64 : DTYPE_FP32);
    double rate = mma_sync_flops_clk(gpu, in->problem->in);
    return rate > 0 ? rate : gpu_flops_clk(gpu, in->problem->in);
}

// What a block needs of each resource, in clocks per step of one in K.
struct simt_block {
    double warps, math, issue, pipe, chain;
    bool streams; // the kernel has no slab and no barrier
};

// The height or width of a rectangle of this area: the power of two next to the area's square root.
static double side_of(double area)
{
    return area > 1 ? exp2(round(log2(area) / 2)) : 1;
}

static double warps_of(const struct traits *t)
{
    return ceil((t->threads > 0 ? t->threads : THREADS_DEFAULT) / warp);
}

// Bytes of shared memory that a block stages its operands in. Traits that name stages on tensor
// cores, but no bytes, mean stages in shared memory.
static double staged_bytes(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct traits *traits = t->in->traits;
    if (traits->smem_bytes > 0 || !by_mma(t->in) || traits->stages < 2)
        return most(traits->smem_bytes, 0);
    return ((double)b->tile_m + b->tile_n) * b->tile_k * t->bytes_in * traits->stages;
}

int32_t simt_blocks_per_sm(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct traits *traits = t->in->traits;
    double each = (double)b->tile_m * b->tile_n / (warps_of(traits) * warp);
    double side = side_of(each), needed = each + 2 * (side + each / side) + kept_registers;
    int32_t registers =
        traits->registers > 0 ? traits->registers : (int32_t)least(needed, REGISTERS_MOST);
    return occupancy_of(t->gpu, (int32_t)(warps_of(traits) * warp), registers,
                        (int32_t)staged_bytes(b, t))
        .blocks;
}

// Is the operand contiguous along K? A has rows of k elements in layouts TN and NN, B has them in
// TN and TT.
static bool along_k(const struct problem *p, bool of_a)
{
    return p->layout == LAYOUT_TN || p->layout == (of_a ? LAYOUT_NN : LAYOUT_TT);
}

// 128-byte lines that a warp's loads of one step touch, when `lanes` of its threads lie along the
// operand and each thread needs `each` elements.
static double lines_touched(const struct hopper_terms *t, double lanes, double each, bool of_a)
{
    if (along_k(t->in->problem, of_a))
        return lanes * each;
    return each * ceil(lanes * t->bytes_in / line_bytes);
}

// 128-byte lines that a slab of one operand is loaded from, per step.
static double lines_loaded(const struct hopper_breakdown *b, const struct hopper_terms *t,
                           double rows, bool of_a)
{
    if (along_k(t->in->problem, of_a))
        return rows * ceil(b->tile_k * t->bytes_in / line_bytes) / b->tile_k;
    return ceil(rows * t->bytes_in / line_bytes);
}

// The costs of a block that stages its operands in shared memory slab by slab.
static void stage(struct simt_block *o, const struct hopper_breakdown *b,
                  const struct hopper_terms *t, double read_bytes, double own)
{
    double sides = (double)b->tile_m + b->tile_n, port = t->gpu->smem_bytes_clk.value;
    double reads = read_bytes / port, bytes = sides * t->bytes_in;
    double wait = t->gpu->l2_latency_clk.value;
    if (t->in->traits->stages >= ASYNCHRONOUS) {
        // Asynchronous copies move 16 bytes each and no thread waits for them; they arrive in parts
        // of lines. A thread reads the next step's fragments while it multiplies this step's.
        double slab = b->tile_k * most(own, reads / o->warps) + 3 * shared_latency_clk;
        o->math /= reached;
        o->issue /= reached;
        o->issue += bytes / fragment_bytes / sub_partitions / warp;
        o->pipe = reads + bytes / port + bytes / line_bytes;
        o->chain = most(slab, wait / (t->in->traits->stages - 1)) / b->tile_k;
        return;
    }
    double staging =
        bytes / port + lines_loaded(b, t, b->tile_m, true) + lines_loaded(b, t, b->tile_n, false);
    // of K, that one instruction covers
    double depth = by_mma(t->in) ? sector_bytes / t->bytes_in : 1;
    double slab = b->tile_k * (own + reads / o->warps + shared_latency_clk / depth + staging) +
                  2 * shared_latency_clk;
    o->issue += copy_instructions * sides / sub_partitions / warp;
    o->pipe = reads + staging;
    o->chain = (t->in->traits->stages == 1 ? slab + wait : most(slab, wait)) / b->tile_k;
}

// The costs of a block that loads its operands straight from global memory, as far as caches do
// not hold them.
static void load(struct simt_block *o, const struct hopper_terms *t, double lines, double own)
{
    const struct problem *p = t->in->problem;
    bool by_k = along_k(p, true) && along_k(p, false);
    double depth = by_mma(t->in) ? sector_bytes / t->bytes_in : unrolled;
    double missing = by_k ? least(1, depth * t->bytes_in / sector_bytes) : 1;
    o->pipe = lines * o->warps;
    o->chain =
        own + (missing * t->gpu->l2_latency_clk.value + (1 - missing) * l1_latency_clk) / depth;
}

// The costs of a block whose lanes lie along K, 16 bytes each: rows are read once, straight into
// registers (m = 1). Elements below 32 bits are converted to FP32; A's are converted once for
// two columns (kernels/gemm/cuda/small/gemv.cuh).
static void stream(struct simt_block *o, const struct hopper_breakdown *b,
                   const struct hopper_terms *t)
{
    double bytes = ((double)b->tile_m + b->tile_n) * t->bytes_in;
    double converted = t->bytes_in >= 4 ? 0 : t->bytes_in >= 2 ? 1 : fp8_conversion;
    double multiplied = (double)b->tile_m * b->tile_n + converted * (b->tile_n + 0.5 * b->tile_n);
    o->issue = (multiplied + bytes / fragment_bytes) / warp / sub_partitions;
    o->pipe = bytes / line_bytes;
    o->chain = t->gpu->dram_latency_clk.value / b->tile_k;
    o->streams = true;
}

static struct simt_block block_of(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct traits *traits = t->in->traits;
    struct simt_block o = {.warps = warps_of(traits)};
    double area = (double)b->tile_m * b->tile_n, outputs = area / (o.warps * warp);
    double slab_bytes = ((double)b->tile_m + b->tile_n) * b->tile_k * t->bytes_in;
    bool mma = by_mma(t->in), staged = staged_bytes(b, t) > 0;
    bool along = !mma && b->tile_k * t->bytes_in >= warp * fragment_bytes;
    // The rows of outputs that a thread holds, or a warp where its threads share fragments.
    double rows = least(side_of(mma ? area / o.warps : outputs), b->tile_m);
    double columns = most(1, (mma ? area / o.warps : outputs) / rows);
    double readers = mma ? o.warps : o.warps * warp;
    double loads = (rows + columns) / (mma ? warp : fmod(rows, vector) == 0 && staged ? vector : 1);
    o.math = 2 * area / t->flops_clk;
    o.issue = ((mma ? 0 : outputs) + loads) * o.warps / sub_partitions;
    double own = o.math * sub_partitions / o.warps + loads;
    if (along && traits->smem_bytes < slab_bytes) {
        stream(&o, b, t);
    } else if (staged) {
        stage(&o, b, t, (rows + columns) * t->bytes_in * readers, own);
    } else if (mma) { // a fragment asks for 16 bytes of each of eight rows
        load(&o, t, (rows + columns) * t->bytes_in / fragment_bytes, own);
    } else {
        double across = least(warp, ceil(b->tile_n / columns)); // lanes that lie along a row of C
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

// Joins all limits in their soft maximum, and says how much of it scales with the clock
// (all but DRAM).
static void add_limits(struct hopper_breakdown *b, double power)
{
    const double *limits = b->limits_ns;
    double scale = 0, all = 0; // dividing by the largest keeps the powers in range
    for (int i = 0; i < HOPPER_LIMITS; i++)
        scale = most(scale, limits[i]);
    // Math and issue are one pipe seen twice: only the longer counts.
    all = raised(most(limits[HOPPER_MATH], limits[HOPPER_ISSUE]) / scale, power);
    double dram = raised(limits[HOPPER_DRAM] / scale, power);
    all += raised(limits[HOPPER_SHARED] / scale, power);
    all += raised(limits[HOPPER_L2] / scale, power);
    all += raised(limits[HOPPER_LATENCY] / scale, power) + dram;
    b->main_ns = scale * pow(all, 1 / power);
    b->clocked_ns = b->main_ns * (1 - dram / all);
}

void simt_main(struct hopper_breakdown *b, const struct hopper_terms *t)
{
    struct simt_block block = block_of(b, t);
    double ns = t->k * 1e9 / t->clock; // one clock in each of k steps
    double each = (double)b->blocks / (double)t->sms;
    b->turns = (double)b->blocks / (double)b->resident;
    if (t->in->traits->split_k != SPLIT_STREAM) { // an SM runs whole blocks; stream-K alone shares
                                                  // parts of them
        each = ceil(each);
        b->turns = ceil(b->turns);
    }
    b->l2_bytes = (double)b->blocks * ((double)b->tile_m + b->tile_n) * t->k * t->bytes_in;
    b->limits_ns[HOPPER_MATH] = each * block.math * ns;
    b->limits_ns[HOPPER_ISSUE] = each * block.issue * ns;
    b->limits_ns[HOPPER_SHARED] = each * block.pipe * ns;
    b->limits_ns[HOPPER_LATENCY] = b->turns * block.chain * ns;
    b->limits_ns[HOPPER_L2] = 0;
    if (t->gpu->l2_bytes_clk.value > 0)
        b->limits_ns[HOPPER_L2] = b->l2_bytes / t->gpu->l2_bytes_clk.value / t->clock * 1e9;
    add_limits(b, block.streams ? streaming : b->stages >= 3 ? pipelined : exponent);
}
