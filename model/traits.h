// SPDX-License-Identifier: Apache-2.0
//
// Traits: what a kernel is made of, as models see it. Mirrors struct plumb_traits of the ABI.
// Zero means "unknown or does not apply".
#ifndef PLUMB_TRAITS_H
#define PLUMB_TRAITS_H

#include "model/problem.h"

enum raster { RASTER_M, RASTER_N, RASTER_HILBERT };
// What hides a tile's epilogue: nothing known; the same warpgroups store it between the next tile's
// slabs; another warpgroup multiplies meanwhile.
enum overlap { OVERLAP_NONE, OVERLAP_NEXT_TILE, OVERLAP_PINGPONG };
// What multiplies: nothing known; FMA units; tensor cores by mma.sync, from registers; by wgmma,
// from shared memory.
enum multiply { MULTIPLY_UNKNOWN, MULTIPLY_FMA, MULTIPLY_MMA, MULTIPLY_WGMMA };

// name, as written in the wire format, the store and reports; one X per integer trait.
#define TRAITS(X)                                                                                  \
    X(tile_m) /* output tile of one thread block */                                                \
    X(tile_n)                                                                                      \
    X(tile_k)    /* K slab of one pipeline stage, elements */                                      \
    X(stages)    /* slabs in flight */                                                             \
    X(cluster_m) /* thread-block cluster, 1 without */                                             \
    X(cluster_n)                                                                                   \
    X(threads)     /* per block; host: worker threads */                                           \
    X(smem_bytes)  /* per block */                                                                 \
    X(registers)   /* per thread */                                                                \
    X(spill_bytes) /* per thread, stores + loads, from ptxas or the cubin */                       \
    X(blocks_per_sm)                                                                               \
    X(persistent)   /* 1: grid = resident blocks */                                                \
    X(raster)       /* enum raster */                                                              \
    X(raster_group) /* tile rows walked together, 1 = plain */                                     \
    X(split_k)      /* 1 none, 0 unknown, else parts or enum split */                              \
    X(overlap)      /* of epilogues with multiplying: enum overlap */                              \
    X(promote_k)    /* FP8 sums are added up in FP32 every so much of K, 0 never */                \
    X(multiply)     /* enum multiply */

// Of split_k: slabs in equal shares, handed on from block to block; as many parts of each tile as
// find an SM, which all finish it together.
enum split { SPLIT_STREAM = -1, SPLIT_SPREAD = -2 };

struct traits {
    enum dtype in, out, acc;
#define X(name) int32_t name;
    TRAITS(X)
#undef X
};

#endif
