// SPDX-License-Identifier: Apache-2.0
//
// What one wave needs of each resource, and what stands between waves. Prose in hopper.h.
#include "model/predict/parts/hopper_terms.h"

#include "model/predict/parts/cutlass.h"
#include "model/predict/parts/simt.h"

#include <math.h>

// Fitted; see hopper.h. Clocks unless the name says seconds.
static const double one_group_floor = 57.3, one_group_slope = 0.105; // of an instruction, per N
static const double groups_floor = 31.4, groups_slope = 0.196;
static const double port_bytes_clk = 75, chip_bytes_clk = 102; // L2, per SM
static const double straddle = 1.87; // further cost of a row chunk that lies in two lines
static const double zero_rows_clk = 17.2, in_flight_s = 1.11e-6;
static const double tile_clk = 394, tile_area_clk = 112; // per 1024 outputs of a warpgroup
static const double restart_clk = 2720, scattered_area_clk = 718;
static const double promote_clk = 5.32, promote_area_clk = 6.75;
static const double twin_share = 0.811;
static const double reduce_clk = 896, reduce_kib_clk = 60.5;
static const double l2_resident = 0.64; // 40 MB of 60 MiB
enum { ROWS = 64, STEP_BYTES = 32, LINE_BYTES = 128, STORE_BYTES = 16 };

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

void hopper_lay_raster(struct hopper_wave *w, const struct hopper_terms *t, double tiles)
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

double hopper_new_dram_bytes(const struct hopper_breakdown *b, const struct hopper_wave *w,
                             const struct hopper_terms *t)
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
static double stored_bytes(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    double all = (double)p->m * (double)p->n * p->batch * t->bytes_out;
    return b->tiles > b->resident ? all * (double)b->resident / (double)b->tiles : 0;
}

// One block's multiplications at the peak rate, rows padded to the instruction's 64.
static double math_clk(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    double m = b->tile_m;
    if (t->tensor && b->tile_m % ROWS && b->tile_n % ROWS)
        m = ceil(m / ROWS) * ROWS;
    return 2 * m * b->tile_n * t->k / t->flops_clk;
}

// The same as instructions of 64 x N x 32 bytes, none faster than its operands arrive.
static double issue_clk(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    double n = b->tile_n, count = ceil(b->tile_m / (double)ROWS);
    if (b->tile_m % ROWS && b->tile_n % ROWS == 0) { // the 64 rows run along N
        n = b->tile_m;
        const int64_t instructions = b->tile_n / ROWS;
        count = (double)instructions;
    } else if (b->tile_m <= ROWS && t->warpgroups > 1 &&
               t->in->traits->overlap != OVERLAP_PINGPONG) { // warpgroups side by side along N
        n /= t->warpgroups;
        count = t->warpgroups;
    }
    bool alone = t->warpgroups == 1 || t->in->traits->overlap == OVERLAP_PINGPONG;
    double least_clk =
        alone ? one_group_floor + one_group_slope * n : groups_floor + groups_slope * n;
    double steps = t->k * t->bytes_in / STEP_BYTES;
    double clk = steps * count * most(n / 2, least_clk);
    if (t->in->traits->promote_k > 0)
        clk += t->k / t->in->traits->promote_k *
               (promote_clk + promote_area_clk * b->tile_m * b->tile_n / 1024 / t->warpgroups);
    return clk;
}

// How many lines of L2 a 128-byte chunk of an operand row lies in, on average.
static double lines_per_chunk(const struct hopper_terms *t)
{
    int64_t shift = (int64_t)((double)t->in->problem->k * t->bytes_in) % LINE_BYTES;
    if (shift == 0)
        return 1;
    return 2 - (double)(shift & -shift) / LINE_BYTES; // the lowest bit is the greatest divisor
}

static double l2_clk(const struct hopper_breakdown *b, const struct hopper_wave *w,
                     const struct hopper_terms *t, double blocks_sm)
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
                        const struct hopper_terms *t)
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
                      const struct hopper_terms *t)
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
    // Zero rows come the way of the others: between them.
    double loads = w->limits_ns[HOPPER_L2] + w->limits_ns[HOPPER_ZEROS];
    // Math and issue are one pipe seen twice: only the longer counts.
    double pipe = most(w->limits_ns[HOPPER_MATH], w->limits_ns[HOPPER_ISSUE]);
    double scale = w->limits_ns[w->limit]; // keeps the powers in range
    sum = fifth_power(loads / scale) + fifth_power(w->limits_ns[HOPPER_DRAM] / scale);
    double all = sum + fifth_power(pipe / scale);
    w->time_ns = scale * pow(all, 0.2);
    // d log time / d log clock: the share of the limits that go with the clock.
    w->clocked_ns = w->time_ns * (1 - fifth_power(w->limits_ns[HOPPER_DRAM] / scale) / all);
}

struct hopper_wave hopper_wave(const struct hopper_breakdown *b, const struct hopper_terms *t,
                               int64_t blocks)
{
    if (t->simt)
        return simt_wave(b, t, blocks);
    struct hopper_wave w = {.blocks = blocks};
    double ns = 1e9 / t->clock;
    double blocks_sm = ceil((double)blocks / (double)t->sms);
    hopper_lay_raster(&w, t, ceil((double)blocks / t->split));
    w.dram_bytes = hopper_new_dram_bytes(b, &w, t);
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
double hopper_overhead_clk(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    if (t->simt) // the SM's other blocks work meanwhile
        return 0;
    const struct problem *p = t->in->problem;
    double area = (double)b->tile_m * b->tile_n / 1024;
    double inside = least(b->tile_m, (double)p->m) * least(b->tile_n, (double)p->n) / 1024;
    double clk = tile_clk + tile_area_clk * area / t->warpgroups;
    if (fmod((double)p->n * t->bytes_out, STORE_BYTES) != 0) // no bulk store: element by element
        clk += scattered_area_clk * inside;
    if (t->split > 1)
        clk += reduce_clk + reduce_kib_clk * area * 4 * (t->split - 1) / t->split;
    if (b->blocks_per_sm > 1) // another block multiplies meanwhile
        clk *= twin_share;
    return clk;
}

double hopper_restart_clk(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    if (t->simt || t->in->traits->persistent)
        return 0;
    return b->blocks_per_sm > 1 ? restart_clk * twin_share : restart_clk;
}
