// SPDX-License-Identifier: Apache-2.0
//
// Stream-K: how many blocks share the K loops of all tiles, and what that costs.
// Source: ROCm/rocm-libraries shared/origami/src/origami/streamk.cpp @097bca1.
#ifndef PLUMB_STREAMK_H
#define PLUMB_STREAMK_H

#include "model/problem.h"

// time = a + b [peers > 1] + c iterations per block + d (peers - 1), microseconds.
struct streamk_cost {
    double a, b, c, d;
};
extern const struct streamk_cost streamk_published_cost; // fitted by its authors on MI300X

struct streamk_shape {
    int64_t tiles;      // output tiles
    int64_t iterations; // K slabs of one tile
    double slab_bytes;  // of one operand row in a slab: tile_k times element size
    double tile_bytes;  // of one partial result
};
// Tiles must be positive.
struct streamk_shape streamk_shape(const struct problem *problem, int32_t tile_m, int32_t tile_n,
                                   int32_t tile_k);

struct streamk_time {
    int64_t iterations_per_block;
    int64_t peers; // blocks that contribute to one tile
    double time;
};
// `blocks` must be positive.
struct streamk_time streamk_time(const struct streamk_shape *shape, int64_t blocks,
                                 const struct streamk_cost *cost);

// Origami's choice of the number of blocks for `sms` multiprocessors.
int64_t streamk_grid(const struct streamk_shape *shape, int64_t sms);

#endif
