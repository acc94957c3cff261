// SPDX-License-Identifier: Apache-2.0
//
// The exact search for the best tiling under seed 1's model, and its parameters from measured
// transfers. pipeline_z3.c answers the same question.
#include "model/predict/parts/pipeline_optimise.h"

#include <math.h>
#include <stdlib.h>

enum { WARPS_MOST = 64 };

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int pipeline_machine_check(const struct pipeline_machine *m, const int64_t mnk[3],
                           struct error *err)
{
    const int64_t costs[] = {m->launch,     m->load_startup,     m->load_block,    m->math_startup,
                             m->math_block, m->epilogue_startup, m->epilogue_block};
    for (size_t i = 0; i < ARRAY_COUNT(costs); i++) {
        if (costs[i] < 0 || costs[i] > PIPELINE_TICKS_MAX)
            return error_set(err, "cost %zu of the machine is %lld ticks; 0 to %d are handled", i,
                             (long long)costs[i], PIPELINE_TICKS_MAX);
    }
    if (m->sms < 1 || m->depth_max < 1 || m->depth_max > 8 || m->dma_warps < 1 ||
        m->dma_warps > WARPS_MOST || m->math_warps < 1 || m->math_warps > WARPS_MOST)
        return error_set(err,
                         "a machine has SMs, a depth of 1 to 8, and 1 to %d loading and "
                         "computing warps each",
                         WARPS_MOST);
    for (int i = 0; i < 3; i++) {
        if (mnk[i] < PIPELINE_UNIT || mnk[i] > PIPELINE_SIZE_MAX || mnk[i] % PIPELINE_UNIT)
            return error_set(err, "size %lld: sizes are multiples of %d up to %d",
                             (long long)mnk[i], PIPELINE_UNIT, PIPELINE_SIZE_MAX);
    }
    return 0;
}

static int64_t shared(int64_t ticks, int32_t warps)
{
    return (ticks + warps - 1) / warps;
}

// Blocks of A and of B of a stage, as its loading warps share them.
static void share_loads(int64_t ticks[2], const struct pipeline_machine *m, int64_t blocks_a,
                        int64_t blocks_b)
{
    int64_t a = m->load_block * blocks_a, b = m->load_block * blocks_b, best = INT64_MAX;
    ticks[0] = a, ticks[1] = b;
    for (int32_t on_a = 1; on_a < m->dma_warps; on_a++) {
        int64_t of_a = shared(a, on_a), of_b = shared(b, m->dma_warps - on_a);
        if (most(of_a, of_b) >= best)
            continue;
        best = most(of_a, of_b);
        ticks[0] = of_a, ticks[1] = of_b;
    }
}

struct costs {
    int64_t load_a, load_b, math, epilogue;
};

static struct costs costs_of(const struct pipeline_machine *m, const struct pipeline_choice *c)
{
    int64_t tm = c->tile_m / PIPELINE_UNIT, tn = c->tile_n / PIPELINE_UNIT;
    int64_t tk = c->tile_k / PIPELINE_UNIT, loads[2];
    share_loads(loads, m, tm * tk, tk * tn);
    return (struct costs){.load_a = m->load_startup + loads[0],
                          .load_b = m->load_startup + loads[1],
                          .math =
                              m->math_startup + shared(m->math_block * tm * tn * tk, m->math_warps),
                          .epilogue = m->epilogue_startup + m->epilogue_block * tm * tn};
}

void pipeline_of_choice(struct pipeline *out, const struct pipeline_machine *m,
                        const struct pipeline_choice *c, const int64_t mnk[3])
{
    struct costs costs = costs_of(m, c);
    *out = (struct pipeline){.load_a = (double)costs.load_a,
                             .load_b = (double)costs.load_b,
                             .math = (double)costs.math,
                             .epilogue = (double)costs.epilogue,
                             .depth = c->depth,
                             .dma_warps = m->dma_warps == 1 ? 1 : 2,
                             .stages = mnk[2] / c->tile_k};
}

void pipeline_evaluate(struct pipeline_choice *c, const struct pipeline_machine *m,
                       const int64_t mnk[3])
{
    struct costs of = costs_of(m, c);
    int64_t load = m->dma_warps == 1 ? of.load_a + of.load_b : most(of.load_a, of.load_b);
    int64_t step = c->depth == 1 ? load + of.math : most(load, of.math);
    int64_t steps = mnk[2] / c->tile_k - 1;
    int64_t tiles = (mnk[0] / c->tile_m) * (mnk[1] / c->tile_n);
    int64_t last = load + steps * step; // start of the last MATH, see pipeline.h
    c->time = m->launch + (tiles + m->sms - 1) / m->sms * (last + of.math + of.epilogue);
    c->wait = tiles * (last - steps * of.math);
}

struct divisors {
    int32_t items[PIPELINE_TILE_MAX / PIPELINE_UNIT];
    size_t count;
};

static struct divisors divisors_of(int64_t size)
{
    struct divisors out = {.count = 0};
    for (int32_t d = PIPELINE_UNIT; d <= PIPELINE_TILE_MAX && d <= size; d += PIPELINE_UNIT) {
        if (size % d == 0)
            out.items[out.count++] = d;
    }
    return out;
}

void pipeline_tilings(struct pipeline_tilings *out, const struct pipeline_machine *m,
                      const int64_t mnk[3])
{
    const int64_t area = (int64_t)PIPELINE_UNIT * PIPELINE_UNIT;
    struct divisors tile_m = divisors_of(mnk[0]), tile_n = divisors_of(mnk[1]);
    struct divisors tile_k = divisors_of(mnk[2]);
    size_t all = tile_m.count * tile_n.count * tile_k.count;
    *out = (struct pipeline_tilings){.items = xcalloc(all, sizeof(*out->items))};
    for (size_t i = 0; i < all; i++) {
        struct pipeline_choice c = {.tile_m = tile_m.items[i / tile_k.count / tile_n.count],
                                    .tile_n = tile_n.items[i / tile_k.count % tile_n.count],
                                    .tile_k = tile_k.items[i % tile_k.count]};
        int64_t fit = m->smem_blocks / (((int64_t)c.tile_m + c.tile_n) * c.tile_k / area);
        c.depth = fit < m->depth_max ? (int32_t)fit : m->depth_max;
        if (c.depth > 0)
            out->items[out->count++] = c;
    }
}

void pipeline_tilings_free(struct pipeline_tilings *tilings)
{
    free(tilings->items);
    *tilings = (struct pipeline_tilings){0};
}

// Depths past 2 change nothing in the model, so 1 and 2 stand for all.
static void try_depths(struct pipeline_choice *best, struct pipeline_choice c,
                       const struct pipeline_machine *m, const int64_t mnk[3],
                       enum pipeline_goal goal)
{
    const int32_t deepest = c.depth;
    for (c.depth = 1; c.depth <= 2 && c.depth <= deepest; c.depth++) {
        pipeline_evaluate(&c, m, mnk);
        int64_t value = goal == PIPELINE_LEAST_TIME ? c.time : c.wait;
        int64_t least = goal == PIPELINE_LEAST_TIME ? best->time : best->wait;
        if (best->depth == 0 || value < least)
            *best = c;
    }
}

int pipeline_optimise(struct pipeline_choice *out, const struct pipeline_machine *m,
                      const int64_t mnk[3], enum pipeline_goal goal, struct error *err)
{
    if (pipeline_machine_check(m, mnk, err))
        return -1;
    struct pipeline_tilings tilings;
    struct pipeline_choice best = {0};
    pipeline_tilings(&tilings, m, mnk);
    for (size_t i = 0; i < tilings.count; i++)
        try_depths(&best, tilings.items[i], m, mnk, goal);
    pipeline_tilings_free(&tilings);
    if (best.depth == 0)
        return error_set(err, "not even a 32 x 32 x 32 tile fits in %lld blocks of shared memory",
                         (long long)m->smem_blocks);
    *out = best;
    return 0;
}

int pipeline_estimate(struct pipeline_rate *out, const struct pipeline_point *points, size_t count,
                      struct error *err)
{
    double bytes = 0, time = 0, covariance = 0, variance = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += points[i].bytes / (double)count;
        time += points[i].time / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        covariance += (points[i].bytes - bytes) * (points[i].time - time);
        variance += (points[i].bytes - bytes) * (points[i].bytes - bytes);
    }
    double throughput = variance / covariance;
    if (count < 2 || !isfinite(throughput) || throughput <= 0)
        return error_set(err, "these times give no throughput; measure two sizes and more, the "
                              "larger taking longer");
    *out = (struct pipeline_rate){.startup = time - bytes / throughput, .throughput = throughput};
    return 0;
}
