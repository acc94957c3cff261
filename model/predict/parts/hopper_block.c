// SPDX-License-Identifier: Apache-2.0
//
// What one block of a tensor-core kernel takes, and the busiest SM with all of its blocks. Prose
// in hopper.h.
#include "model/predict/parts/hopper_terms.h"

#include "model/predict/parts/arithmetic.h"

enum { ROWS = 64, STEP_BYTES = 32, STORE_BYTES = 16, SOFT = 8 };
// Shares of less than three slabs cost more than they save, and so does sharing out more than three
// quarters of a wave: the rule of this project's stream-K (kernels/gemm/cuda/cost.h).
static const double least_slabs = 3, most_rest = 0.75;

// One block's slab of K, in clocks unless the name says otherwise.
struct slab {
    double math;  // at the peak rate
    double issue; // beside other warpgroups' instructions
    double alone; // without
    double port, latency_ns;
};

// Rows that the instruction's 64 lie along, and its width, both of the tile.
static void orient(double *rows, double *width, const struct hopper_breakdown *b,
                   const struct hopper_terms *t)
{
    *rows = t->swapped ? b->tile_n : b->tile_m;
    *width = (t->swapped ? b->tile_m : b->tile_n) * t->weights;
    if (t->swapped && t->weights > 1)
        *rows *= t->weights, *width /= t->weights;
    *rows = ceil(*rows / ROWS) * ROWS;
}

static double promote_clk(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    if (t->in->traits->promote_k <= 0)
        return 0;
    const struct hopper_constants *c = t->fit;
    double area = (double)b->tile_m * b->tile_n * t->weights / 1024 / t->warpgroups;
    bool scaled = t->in->problem->scales.vector > 0;
    double each = scaled ? c->scale_clk + c->scale_area_clk * area
                         : c->promote_clk + c->promote_area_clk * area;
    if (t->library)
        each *= c->library_scale;
    return (double)b->tile_k / t->in->traits->promote_k * each;
}

// A warpgroup decodes its rows while the instructions of the words before are at work, and waits
// for them in turn.
static double decode_clk(double math, const struct hopper_breakdown *b,
                         const struct hopper_terms *t)
{
    double clk = t->fit->decode_clk + t->fit->decode_group_clk * most(0, t->warpgroups - 2);
    return most(math, clk * b->tile_k / 128 + t->fit->decode_math * math);
}

static struct slab slab_of(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    struct slab s = {0};
    double rows, width;
    orient(&rows, &width, b, t);
    s.math = 2 * rows * width * b->tile_k / t->flops_clk;
    s.issue = s.alone = s.math;
    if (!t->tensor)
        return s;
    if (t->decodes)
        s.issue = decode_clk(s.math, b, t);
    s.issue += promote_clk(b, t);
    if (t->together == 1) {
        double products = t->swapped ? t->weights : 1; // side by side, so neither waits alone
        double instructions = rows / ROWS / products * b->tile_k * t->bytes_in / STEP_BYTES;
        s.alone = most(s.math, instructions * t->fit->alone_clk);
    }
    s.alone += s.issue - s.math;
    double loaded = least(b->tile_m, (double)p->m) / t->cluster_n +
                    t->weights * least(b->tile_n, (double)p->n) / t->cluster_m;
    s.port = loaded * b->tile_k * t->bytes_in * t->line / t->fit->port_bytes_clk;
    s.latency_ns = t->fit->latency_s * 1e9 / b->stages;
    return s;
}

// Nanoseconds of `blocks` on one SM at a time, and what of them goes with the clock.
static double together_ns(double *clocked, const struct slab *s, const struct hopper_terms *t,
                          double blocks)
{
    double pipe = most(blocks * s->issue, s->alone);
    double ns = hopper_soft_max(pipe, blocks * s->port, SOFT) / t->clock * 1e9;
    double all = hopper_soft_max(ns, s->latency_ns, SOFT);
    *clocked = all * hopper_soft_share(ns, all, SOFT) * t->slabs;
    return all * t->slabs;
}

// What of a tile's end and the next one's start does not overlap, for one turn.
static double turn_end_clk(const struct hopper_breakdown *b, const struct hopper_terms *t,
                           double blocks_a_turn)
{
    const struct problem *p = t->in->problem;
    const struct hopper_constants *c = t->fit;
    const int overlap = t->in->traits->overlap;
    double area = (double)b->tile_m * b->tile_n / 1024, sums = area * t->weights;
    double clk = overlap == OVERLAP_PINGPONG    ? c->tile_ping_area_clk
                 : overlap == OVERLAP_NEXT_TILE ? c->tile_next_area_clk
                                                : c->tile_area_clk;
    clk *= area / t->warpgroups * most(1, 1 + c->tile_wide_output * (t->bytes_out / 2 - 1));
    if (t->swapped)
        clk *= c->tile_swapped;
    if (t->library)
        clk *= c->library_end;
    if (t->weights > 1)
        clk *= c->tile_silu;
    if (t->split > 1)
        clk += c->reduce_area_clk * sums * (t->split - 1) / t->split;
    if (b->blocks_per_sm > 1) // another block multiplies meanwhile
        clk *= c->shared_sm;
    // No bulk store, element by element.
    if (fmod((double)p->n * t->bytes_out, STORE_BYTES) != 0 ||
        fmod(b->tile_n * t->bytes_out, STORE_BYTES) != 0) {
        double inside = least(b->tile_m, (double)p->m) * least(b->tile_n, (double)p->n) / 1024;
        clk += c->scattered_area_clk * (t->swapped ? c->scattered_swapped : 1) * inside / t->split *
               blocks_a_turn;
    }
    return clk;
}

// Stream-K: K's slabs of all tiles, or of those beyond whole waves, in equal shares. The turns and
// the time of the busiest block, with the handing on of sums.
static void share_out(double *turns, double *loop_ns, double tile_ns,
                      const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct hopper_constants *c = t->fit;
    double sums = (double)b->tile_m * b->tile_n / 1024 * t->weights;
    double fit_at_once = (double)b->resident / t->cluster;
    double tiles = (double)b->blocks / t->cluster, whole = floor(tiles / fit_at_once);
    double rest = tiles / fit_at_once - whole, further = c->stream_rest;
    *turns = ceil(tiles / fit_at_once);
    if (whole < 1) {
        // As many blocks to a tile as there are, with three slabs each, and no more than pay.
        double pays = sqrt(tile_ns * 1e-9 * t->clock / c->stream_peer_clk);
        double sharers = least(1 / rest, most(1, t->slabs / least_slabs));
        sharers = least(sharers, most(1, pays));
        *loop_ns = tile_ns / sharers;
        further = sharers - 1;
    } else { // nearly a whole wave is run as one
        *loop_ns = tile_ns * (whole + (rest > most_rest ? 1 : rest));
    }
    double hand_clk = c->stream_clk + c->stream_area_clk * sums + c->stream_peer_clk * further;
    *loop_ns += hand_clk / t->clock * 1e9;
}

// K spread over all SMs, in at most 16 parts a tile of two slabs at least (the rule of this
// project's spread kernels, kernels/gemm/cuda/cost.h), here without its rounding: a part's slabs,
// and all parts.
void hopper_spread(struct hopper_breakdown *b, struct hopper_terms *t)
{
    double tiles = t->tiles_m * (double)t->grid_n, two_slabs = least(t->slabs, 2);
    double slabs = most(two_slabs, t->slabs * most(tiles / (double)t->sms, 1.0 / 16));
    b->blocks = (int64_t)(tiles * t->slabs / slabs);
    t->slabs = slabs;
    t->k = slabs * b->tile_k;
}

void hopper_blocks(struct hopper_breakdown *b, const struct hopper_terms *t)
{
    struct slab s = slab_of(b, t);
    double each = ceil((double)b->blocks / (double)t->sms); // blocks of the busiest SM
    double full = floor(each / b->blocks_per_sm), rest = each - full * b->blocks_per_sm;
    double ns = 1e9 / t->clock, clocked, rest_clocked = 0;
    b->turns = full + (rest > 0 ? 1 : 0);
    if (t->in->traits->split_k == SPLIT_STREAM) {
        double tile_ns = together_ns(&clocked, &s, t, 1), share = clocked / tile_ns;
        share_out(&b->turns, &b->main_ns, tile_ns, b, t);
        each = b->turns;
        clocked = b->main_ns * share;
    } else if (t->as_they_come) {
        each = b->turns = most(1, (double)b->blocks / (double)t->sms + 0.5);
        b->main_ns = each * together_ns(&clocked, &s, t, 1);
        clocked *= each;
    } else {
        b->main_ns = full * together_ns(&clocked, &s, t, b->blocks_per_sm);
        clocked *= full;
        if (rest > 0)
            b->main_ns += together_ns(&rest_clocked, &s, t, rest);
        clocked += rest_clocked;
    }
    double busy = b->main_ns > 0 ? t->slabs * each : 0;
    b->limits_ns[HOPPER_MATH] = busy * s.math * ns;
    b->limits_ns[HOPPER_ISSUE] = busy * s.issue * ns;
    b->limits_ns[HOPPER_PORT] = busy * s.port * ns;
    b->limits_ns[HOPPER_LATENCY] = t->slabs * b->turns * s.latency_ns;
    double end_clk = b->turns * turn_end_clk(b, t, b->turns > 0 ? each / b->turns : 1);
    if (!t->in->traits->persistent)
        end_clk += most(b->turns - 1, 0) * t->fit->restart_clk;
    b->overhead_ns = end_clk * ns;
    b->clocked_ns = clocked;
}
