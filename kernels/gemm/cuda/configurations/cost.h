// SPDX-License-Identifier: Apache-2.0
//
// The cost model of the selectors. It is C, so that the program that fits it (../../sweep/fit.c)
// and the selectors (configurations/select.cu) compile the same formula. Configuration c takes,
// in SM cycles,
//
//   compute = waves * slabs * slab_c
//   memory  = (A + B * (1 + again * (rows - 1)) + C) / bandwidth
//   cache   = blocks * waves * slabs * bytes loaded per slab / rate
//   time    = launch_c + waves * tile_c + (compute^4 + memory^4 + cache^4)^(1/4)
//
//   waves   turns that the busiest block takes, and with stream-K the blocks that share a tile
//   slabs   slabs of K in one turn: a split's share of them. If two blocks share an SM, the slabs
//           of two tiles: a tile that is alone there takes more than half of the time of two
//   rows    tile rows, each of which reads B again, from L2. (At m = 128 two rows of 64-row tiles
//           read B slower from memory than one row of 128 does)
//   cache   counts only where L2 is in the way: for rows that are not aligned, and for stream-K.
//           Elsewhere neighbours ask for the same slab at the same time and are served together
//
// slab_c, tile_c, elements_c and launch_c belong to the configuration, all other numbers to the
// device (struct plumb_cost_device); all are fitted to times measured on it. elements_c is added to
// tile_c where rows of C are no multiple of 16 bytes: TMA cannot store such rows, and most
// configurations then store the elements inside C one by one. The powers of 4 make a maximum with a
// soft corner. In a dual GEMM B is two matrices, and a configuration's tile is C's.
#ifndef PLUMB_GEMM_CONFIGURATIONS_COST_H
#define PLUMB_GEMM_CONFIGURATIONS_COST_H

#include <math.h>

#include "../../../kernel.h"

struct plumb_cost {
    float slab, tile, elements, launch; // cycles
};

// hz: the clock at which choices are made. again: see above. alone: the cycles of a slab in a block
// that has its SM to itself, over half of those of two blocks. triples to sixteens: how many
// clusters of three, four, eight and sixteen SMs fit at once.
struct plumb_cost_device {
    double hz, bytes_per_s, again, alone;
    // Bytes per cycle that L2 gives for rows aligned to 128, 64, 32 and 16 bytes. (The blocks of
    // stream-K ask for slabs at different times, so they get no more from half lines than from rows
    // that are not aligned to a line.)
    double on_line, half_line, off_line, off_sector;
    int sms, triples, quads, octets, sixteens;
};

// The H200, SXM, as recorded (baselines/recorded/h200/ladder). Clusters lie within a GPC and leave
// some of its SMs unused: on that device 39 of 44, 30 of 33, 15 of 16 and 7 of 8 clusters fit at
// once; on another one 28 clusters of four.
static const struct plumb_cost_device plumb_cost_h200 = {
    .hz = 1.75e9,
    .bytes_per_s = 4.65e12,
    .again = 0.12,
    .alone = 1.4,
    .on_line = 8000,
    .half_line = 8000,
    .off_line = 6000,
    .off_sector = 3700,
    .sms = 132,
    .triples = 39,
    .quads = 30,
    .octets = 15,
    .sixteens = 7,
};

// How stream-K shares slabs. With less than a wave of tiles, the slabs of all tiles are shared.
// Otherwise those of the partial wave are shared, together with the whole wave before it if the
// partial one is more than half a wave, and not at all if it is more than three quarters. Nothing
// is cut unevenly for a gain of less than a sixteenth, and no share is less than three slabs,
// because such a share costs more than it saves.
struct plumb_stream_shares {
    int blocks;            // blocks at work
    int streamed, sharers; // the slabs of the first `streamed` tiles are shared among the
                           // first `sharers` blocks
};

static inline struct plumb_stream_shares plumb_share_slabs(int tiles, int slabs, int resident)
{
    const int rest = tiles % resident, waves = tiles / resident, least_slabs = 3;
    struct plumb_stream_shares shares = {waves ? resident : 0, rest, resident};
    if (waves && 2 * rest > resident)
        shares.streamed = 4 * rest > 3 * resident ? 0 : rest + resident;
    if (shares.streamed == 0 || shares.streamed > resident)
        return shares;
    const int even = rest * (resident / rest); // number of blocks if each tile has the same number
    const int64_t most = (int64_t)rest * slabs / least_slabs;
    if (16 * (resident - even) <= resident)
        shares.sharers = even;
    if (shares.sharers > most)
        shares.sharers = most > rest ? (int)most : rest;
    if (!waves)
        shares.blocks = shares.sharers;
    return shares;
}

// The number of parts into which the K of each tile is spread (split/device.cuh): one for each SM
// that the tile gets, with at least two slabs each. More than 16 parts have at least six slabs
// each, because a tile waits for the sums of every part; there are at most 32. 0: there are more
// tiles than SMs.
static inline int plumb_spread_parts(int tiles, int slabs, int sms)
{
    const int found = sms / tiles, long_ones = slabs / 6 < 32 ? slabs / 6 : 32;
    const int short_ones = slabs < 4 ? 1 : slabs < 32 ? slabs / 2 : 16;
    const int most = long_ones > short_ones ? long_ones : short_ones;
    return found < most ? found : most;
}

static inline int plumb_ceil_div(int64_t x, int64_t y)
{
    return (int)((x + y - 1) / y);
}

// The work of the busiest block: its turns at tiles, and its slabs over all turns. Stream-K in
// clusters takes less than a wave of tiles: with more tiles it always lost to a tile that fits.
// Stream-K by single blocks may share the second wave, too, if that is less than three quarters
// of a wave.
struct plumb_turns {
    double waves, slabs;
};

static inline int plumb_resident_clusters(const struct plumb_cost_device *d, int members)
{
    return members == 16  ? d->sixteens
           : members == 8 ? d->octets
           : members == 4 ? d->quads
           : members == 3 ? d->triples
                          : d->sms / members;
}

static inline struct plumb_turns plumb_take_turns(const struct plumb_traits *t,
                                                  const struct plumb_problem *p,
                                                  const struct plumb_cost_device *d)
{
    const int cluster = t->cluster_m * t->cluster_n, slabs = plumb_ceil_div(p->k, t->tile_k);
    const int tiles = plumb_ceil_div(p->m, t->tile_m * t->cluster_m) *
                      plumb_ceil_div(p->n, t->tile_n * t->cluster_n);
    struct plumb_turns turns;
    if (t->tile_m == 1) { // each warp takes columns one after the other, so there are no turns
        turns.waves = 1;
        turns.slabs = (double)p->n / t->tile_n * slabs / (d->sms * t->blocks_per_sm);
        return turns;
    }
    if (t->split_k == -2) {
        const int parts = tiles > d->sms ? 0 : plumb_spread_parts(tiles, slabs, d->sms);
        if (parts == 0)
            return (struct plumb_turns){INFINITY, INFINITY};
        return (struct plumb_turns){1, (double)plumb_ceil_div(slabs, parts)};
    }
    if (t->split_k < 0) {
        const int resident = d->sms / cluster * t->blocks_per_sm;
        const struct plumb_stream_shares s = plumb_share_slabs(tiles, slabs, resident);
        const int whole = tiles > resident; // whole waves before the shared tiles
        if (s.streamed == 0 || tiles > (cluster > 1 ? 1 : 2) * resident)
            return (struct plumb_turns){INFINITY, INFINITY};
        turns.slabs = (double)(tiles - s.streamed) / resident * slabs +
                      (double)s.streamed * slabs / s.sharers;
        turns.waves = whole + (s.sharers > s.streamed ? (double)s.sharers / s.streamed : 1);
        return turns;
    }
    const int members = cluster * t->split_k; // blocks of a cluster
    const int resident = t->blocks_per_sm * plumb_resident_clusters(d, members);
    if (resident == 0)
        return (struct plumb_turns){INFINITY, INFINITY};
    if (t->split_k == 1 && t->blocks_per_sm == 2) {
        // blocks of the busiest SM
        const int each = plumb_ceil_div((int64_t)tiles * members, d->sms);
        turns.waves = plumb_ceil_div(each, 2);
        turns.slabs = slabs * (each + (each % 2 ? d->alone - 1 : 0));
        return turns;
    }
    turns.waves = plumb_ceil_div(tiles, resident);
    turns.slabs = turns.waves * plumb_ceil_div(slabs, t->split_k);
    return turns;
}

// The number of rows of B; in a dual GEMM, of both matrices.
static inline double plumb_cost_rows_b(const struct plumb_problem *p)
{
    return (double)p->n * (p->epilogue == PLUMB_DUAL_SILU ? 2 : 1);
}

// The cycles in which L2 delivers all slabs, where L2 is in the way; elsewhere 0. If two blocks
// share an SM, `slabs` counts those of both.
static inline double plumb_cache_cycles(const struct plumb_traits *t, const struct plumb_problem *p,
                                        double slabs, int in, const struct plumb_cost_device *d)
{
    const int64_t pitch = (int64_t)p->k * in;
    const int cluster = t->cluster_m * t->cluster_n, split = t->split_k;
    const int rows = plumb_ceil_div(p->m, t->tile_m * t->cluster_m);
    const int columns = plumb_ceil_div(p->n, t->tile_n * t->cluster_n);
    const double loaded =
        (double)p->m / (rows * cluster) + plumb_cost_rows_b(p) / (columns * cluster);
    int64_t blocks = split < 0 ? d->sms : (int64_t)rows * columns * cluster * split;
    if (split != -1 && pitch % 128 == 0)
        return 0;
    if (blocks > d->sms)
        blocks = d->sms;
    const int counted = split == 1 && t->blocks_per_sm == 2; // plumb_take_turns() has counted both
    return (double)blocks * (counted ? 1 : t->blocks_per_sm) * slabs * loaded * t->tile_k * in /
           (pitch % 32                   ? d->off_sector
            : pitch % 64                 ? d->off_line
            : pitch % 128 && split == -1 ? d->off_line
            : pitch % 128                ? d->half_line
                                         : d->on_line);
}

static inline double plumb_fourth_power(double x)
{
    return x * x * (x * x);
}

static inline double plumb_cost_cycles(const struct plumb_traits *t, const struct plumb_cost *c,
                                       const struct plumb_problem *p,
                                       const struct plumb_cost_device *d)
{
    const struct plumb_turns turns = plumb_take_turns(t, p, d);
    const int in = t->in_type == PLUMB_TF32 ? 4 : t->in_type == PLUMB_E4M3 ? 1 : 2;
    const int out = t->out_type == PLUMB_FP32 ? 4 : 2;
    const int rows = plumb_ceil_div(p->m, t->tile_m * t->cluster_m);
    const int columns = plumb_ceil_div(p->n, t->tile_n * t->cluster_n);
    const double again_a = 1 + d->again * ((columns < 4 ? columns : 4) - 1);
    const double again_b = 1 + d->again * ((rows < 4 ? rows : 4) - 1);
    const double bytes = ((double)p->m * (p->m > p->n ? again_a : 1) +
                          plumb_cost_rows_b(p) * (p->m > p->n ? 1 : again_b)) *
                             (double)p->k * in +
                         (double)p->m * (double)p->n * out;
    const double memory = bytes / d->bytes_per_s * d->hz;
    const double compute = turns.slabs * c->slab;
    const double cache = plumb_cache_cycles(t, p, turns.slabs, in, d);
    const double powers =
        plumb_fourth_power(compute) + plumb_fourth_power(memory) + plumb_fourth_power(cache);
    const double inside =
        (double)p->m * (double)p->n /
        ((double)rows * t->cluster_m * t->tile_m * columns * t->cluster_n * t->tile_n);
    const double tile = c->tile + (p->n * out % 16 ? c->elements * inside : 0);
    return c->launch + turns.waves * tile + sqrt(sqrt(powers));
}

#endif
