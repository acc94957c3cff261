// SPDX-License-Identifier: Apache-2.0
//
// What a block takes on Blackwell: tcgen05, whose sums lie in tensor memory, fed by bulk copies,
// two blocks of a cluster as one (each holds its own rows of A and half of the pair's columns of
// B). Per slab of K, the soft maximum of
//     math     2 tm tn tk / flops_clk, times 1.03 for 2-byte and 1.40 for FP4 operands, whose slabs
//              take 304 clocks at least (their scales go through tensor memory)
//     port     what comes into the SM, at 102 bytes a clock
//     latency  0.67 us over the slabs in flight
// A turn is the softer maximum of its slabs with 636 clocks and of the tile before it leaving
// tensor memory: 361 clocks and 38.6 bytes a clock. The last tile's way out stands at the end.
//
// Fitted to 800 times of seed 0's authors on a B200, its clock locked at 1.3 GHz: half of their
// shapes, FP16, FP8 and FP4 with scales, CTA tiles of 64 and 128 rows, clusters of 2 and 4 blocks.
// With each fifth of the 20 shapes left out of the fit in turn: MAPE 8.9 %, tau 0.75 within a
// shape, picks at 0.975; with halves left out 8.3 %, 0.75, 0.975. K = 128,000 is in the tail. The
// 132 SMs that clusters of four fill were chosen among 148, 144, 140, 136 and 132 by the same
// figures.
#include "model/predict/parts/hopper_terms.h"

#include "model/predict/parts/arithmetic.h"

static const double narrow_factor = 1, half_factor = 1.034, fp4_factor = 1.396;
static const double fp4_least_clk = 304, port_bytes_clk = 101.7, latency_s = 0.667e-6;
static const double turn_clk = 636, drain_clk = 361, drain_bytes_clk = 38.6;
static const double buffer_bytes = 200000, buffers_most = 8; // slabs in flight, where not stated
enum { SOFT_SLAB = 8, SOFT_TURN = 4 };

static double math_clk(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    double clk = 2.0 * b->tile_m * b->tile_n * t->weights * b->tile_k / t->flops_clk;
    if (t->bytes_in < 1)
        return most(clk * fp4_factor, fp4_least_clk);
    return clk * (t->bytes_in > 1 ? half_factor : narrow_factor);
}

// Of one slab: a pair of blocks shares B.
static double slab_bytes(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    double pair = t->cluster_m > 1 ? 2 : 1;
    return (b->tile_m + t->weights * b->tile_n / pair) * b->tile_k * t->bytes_read;
}

double blackwell_store_clk(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    return drain_clk + (double)b->tile_m * b->tile_n * t->bytes_out / drain_bytes_clk;
}

void blackwell_blocks(struct hopper_breakdown *b, const struct hopper_terms *t)
{
    double bytes = slab_bytes(b, t), math = math_clk(b, t), port = bytes / port_bytes_clk;
    double slabs_held = t->in->traits->stages > 0
                            ? t->in->traits->stages
                            : most(1, least(buffers_most, floor(buffer_bytes / bytes)));
    double ns = 1e9 / t->clock, latency_ns = latency_s * 1e9 / slabs_held;
    double clk_ns = hopper_soft_max(math, port, SOFT_SLAB) * ns;
    double slab_ns = hopper_soft_max(clk_ns, latency_ns, SOFT_SLAB);
    double clocked = slab_ns * hopper_soft_share(clk_ns, slab_ns, SOFT_SLAB);
    double loop_ns = t->slabs * slab_ns + turn_clk * ns;
    double drain_ns = blackwell_store_clk(b, t) * ns;
    if (t->split > 1)
        drain_ns += t->fit->reduce_area_clk * b->tile_m * b->tile_n / 1024 * ns;
    double turn_ns = hopper_soft_max(loop_ns, drain_ns, SOFT_TURN);
    b->turns = ceil((double)b->blocks / (double)t->sms);
    b->main_ns = b->turns * turn_ns;
    double of_loop = (t->slabs * clocked + turn_clk * ns) / loop_ns;
    b->clocked_ns = b->main_ns * (hopper_soft_share(loop_ns, turn_ns, SOFT_TURN) * of_loop +
                                  hopper_soft_share(drain_ns, turn_ns, SOFT_TURN));
    b->overhead_ns = 0;
    b->limits_ns[HOPPER_MATH] = b->turns * t->slabs * math * ns;
    b->limits_ns[HOPPER_ISSUE] = b->limits_ns[HOPPER_MATH];
    b->limits_ns[HOPPER_PORT] = b->turns * t->slabs * port * ns;
    b->limits_ns[HOPPER_LATENCY] = b->turns * t->slabs * latency_ns;
}
