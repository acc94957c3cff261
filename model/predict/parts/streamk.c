// SPDX-License-Identifier: Apache-2.0
//
// Stream-K's grid and time in whole iterations of K, as Origami chooses them.
#include "model/predict/parts/streamk.h"

#include <assert.h>
#include <math.h>

const struct streamk_cost streamk_published_cost = {7.337, 3.01, 2.2935, 10.22};

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

struct streamk_shape streamk_shape(const struct problem *p, int32_t tile_m, int32_t tile_n,
                                   int32_t tile_k)
{
    assert(tile_m > 0 && tile_n > 0 && tile_k > 0);
    return (struct streamk_shape){
        .tiles = (int64_t)fmin(
            (double)ceil_div(p->m, tile_m) * (double)ceil_div(p->n, tile_n) * p->batch, 1e18),
        .iterations = ceil_div(p->k, tile_k),
        .slab_bytes = tile_k * dtype_bytes(p->in),
        .tile_bytes = (double)tile_m * tile_n * 4, // partial sums are FP32
    };
}

struct streamk_time streamk_time(const struct streamk_shape *s, int64_t blocks,
                                 const struct streamk_cost *cost)
{
    assert(blocks > 0);
    struct streamk_time out;
    // In reals, and saturated: tiles times iterations may pass 64 bits.
    double share = fmin((double)s->tiles * (double)s->iterations / (double)blocks, 1e18);
    out.iterations_per_block = (int64_t)ceil(share);
    out.peers = ceil_div(s->iterations, out.iterations_per_block);
    out.time = cost->a + (out.peers > 1 ? cost->b : 0) +
               cost->c * (double)out.iterations_per_block + cost->d * (double)(out.peers - 1);
    return out;
}

// More tiles than SMs: spread the last, partial wave over all of them.
static int64_t grid_of_many(const struct streamk_shape *s, int64_t sms)
{
    static const double fractions[] = {0, 1.0 / 2, 1.0 / 8, 1.0 / 5, 1.0 / 4, 1.0 / 3};
    const double workspace_most = 128.0 * 1024 * 1024;
    for (size_t i = 0; i < ARRAY_COUNT(fractions); i++) {
        double per_block = floor((double)s->tiles / (double)sms) + fractions[i];
        int64_t grid = (int64_t)floor((double)s->tiles / per_block + 0.5);
        if (grid > sms || grid < 1)
            continue;
        bool partial = s->tiles % grid != 0;
        double fragment =
            (double)streamk_time(s, grid, &streamk_published_cost).iterations_per_block *
            s->slab_bytes;
        if (partial && s->tile_bytes * (double)grid > workspace_most)
            continue;
        if (partial && fmod(fragment, 128) != 0)
            continue;
        return grid;
    }
    return sms;
}

// Fewer tiles than SMs: cut each tile's K loop, but leave every block at least 8 slabs.
static int64_t grid_of_few(const struct streamk_shape *s, int64_t sms)
{
    static const int64_t factors[] = {16, 12, 8, 6, 4, 3, 2, 1};
    for (size_t i = 0; i < ARRAY_COUNT(factors); i++) {
        if (s->tiles * factors[i] <= sms && s->iterations / factors[i] >= 8)
            return s->tiles * factors[i];
    }
    return s->tiles;
}

int64_t streamk_grid(const struct streamk_shape *s, int64_t sms)
{
    assert(sms > 0);
    if (s->tiles == sms)
        return sms;
    return s->tiles > sms ? grid_of_many(s, sms) : grid_of_few(s, sms);
}
