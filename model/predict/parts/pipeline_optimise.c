// SPDX-License-Identifier: Apache-2.0
//
// The exact search for the best tiling under seed 1's model, and its parameters from measured
// transfers. The tests do the search by other means too, with Z3.
#include "model/predict/parts/pipeline_optimise.h"

#include <math.h>

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

// Of a stage with so many blocks of A and of B.
static int64_t load_ticks(const struct pipeline_machine *m, int64_t blocks_a, int64_t blocks_b)
{
    int64_t a = m->load_block * blocks_a, b = m->load_block * blocks_b, best = INT64_MAX;
    if (m->dma_warps == 1)
        return 2 * m->load_startup + a + b;
    for (int32_t on_a = 1; on_a < m->dma_warps; on_a++) {
        int64_t longer = most(shared(a, on_a), shared(b, m->dma_warps - on_a));
        best = longer < best ? longer : best;
    }
    return m->load_startup + best;
}

void pipeline_evaluate(struct pipeline_choice *c, const struct pipeline_machine *m,
                       const int64_t mnk[3])
{
    int64_t tm = c->tile_m / PIPELINE_UNIT, tn = c->tile_n / PIPELINE_UNIT;
    int64_t tk = c->tile_k / PIPELINE_UNIT;
    int64_t math = m->math_startup + shared(m->math_block * tm * tn * tk, m->math_warps);
    int64_t epilogue = m->epilogue_startup + m->epilogue_block * tm * tn;
    int64_t load = load_ticks(m, tm * tk, tk * tn);
    int64_t step = c->depth == 1 ? load + math : most(load, math);
    int64_t steps = mnk[2] / c->tile_k - 1;
    int64_t tiles = (mnk[0] / c->tile_m) * (mnk[1] / c->tile_n);
    int64_t last = load + steps * step; // start of the last MATH, see pipeline.h
    c->time = m->launch + (tiles + m->sms - 1) / m->sms * (last + math + epilogue);
    c->wait = tiles * (last - steps * math);
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

// Depths past 2 change nothing in the model, so 1 and 2 stand for all.
static void try_depths(struct pipeline_choice *best, struct pipeline_choice c,
                       const struct pipeline_machine *m, const int64_t mnk[3],
                       enum pipeline_goal goal)
{
    const int64_t area = (int64_t)PIPELINE_UNIT * PIPELINE_UNIT;
    int64_t stage = ((int64_t)c.tile_m + c.tile_n) * c.tile_k / area;
    for (c.depth = 1; c.depth <= 2 && c.depth <= m->depth_max; c.depth++) {
        if (c.depth * stage > m->smem_blocks)
            return;
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
    struct divisors tile_m = divisors_of(mnk[0]), tile_n = divisors_of(mnk[1]);
    struct divisors tile_k = divisors_of(mnk[2]);
    struct pipeline_choice best = {0};
    for (size_t i = 0; i < tile_m.count; i++) {
        for (size_t j = 0; j < tile_n.count; j++) {
            for (size_t k = 0; k < tile_k.count; k++) {
                struct pipeline_choice c = {
                    tile_m.items[i], tile_n.items[j], tile_k.items[k], 0, 0, 0};
                try_depths(&best, c, m, mnk, goal);
            }
        }
    }
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
