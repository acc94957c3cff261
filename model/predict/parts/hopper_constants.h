// SPDX-License-Identifier: Apache-2.0
//
// The numbers of the hopper model that no profile has: fitted to measured times.
//
// The form is from public measurements of the parts and from what this project's configuration
// space takes per slab at large problems of the fitted list. The numbers are from a robust fit
// (Cauchy loss of scale 0.12 on log(predicted / measured), one bias per kernel) of
// 31,245 cold times at the clock observed inside each kernel: 317 configurations on 87 problems in
// TF32, BF16 and FP8 on an H200 (baselines/recorded/h200/ladder/fit.*, 2026-11-22).
// bench_hopper_fit makes them again. What they are judged on, and by which command the figures
// come: README.md of baselines/recorded/h200/accuracy.
#ifndef PLUMB_HOPPER_CONSTANTS_H
#define PLUMB_HOPPER_CONSTANTS_H

// name, value. One X per number; clk: SM clocks; "area": per 1024 outputs of a tile.
#define HOPPER_CONSTANTS(X)                                                                        \
    X(fill_clk, 3433)           /* before the first slab, beside the launch */                     \
    X(cluster_s, 9.75e-07)      /* more, when blocks come in clusters */                           \
    X(store_clk, 2000)          /* from the last multiplication to the end */                      \
    X(store_rate, 0.941)        /* of the DRAM rate: the last tiles' store */                      \
    X(alone_clk, 58.0)          /* least of an instruction of a warpgroup by itself */             \
    X(port_bytes_clk, 91.7)     /* into one SM */                                                  \
    X(l2_rate, 1.351)           /* of the profile's L2 rate at the highest clock */                \
    X(l2_near, 0.647)           /* weight of what neighbours in the raster ask for together */     \
    X(l2_far, 0.232)            /* more, as operands outgrow the near half */                      \
    X(l2_near_share, 0.337)     /* of L2, which that half keeps */                                 \
    X(line_64, 1.168)           /* cost of rows that are multiples of 64 bytes only */             \
    X(line_32, 1.252)           /* of 32 bytes */                                                  \
    X(line_16, 1.967)           /* of less */                                                      \
    X(latency_s, 1.115e-06)     /* of a load, from memory under load */                            \
    X(tile_area_clk, 107.9)     /* a tile's end, of one warpgroup: nothing overlaps it */          \
    X(tile_next_area_clk, 93.5) /* stored between the next tile's slabs */                         \
    X(tile_ping_area_clk, 46.6) /* another warpgroup multiplies meanwhile */                       \
    X(tile_wide_output, 0.753)  /* more, per 2 further bytes of an output */                       \
    X(tile_swapped, 1.197)      /* times, where operands are swapped */                            \
    X(restart_clk, 4131)        /* until the multiplications of a block that takes a place */      \
    X(scattered_area_clk, 764)  /* rows of C that are no multiple of 16 bytes */                   \
    X(scattered_swapped, 0.239) /* times, where operands are swapped */                            \
    X(promote_clk, 31.2)        /* FP8 sums promoted: each time */                                 \
    X(promote_area_clk, 2.74)   /* and of a warpgroup */                                           \
    X(shared_sm, 0.656)         /* of tile ends, where blocks share an SM */                       \
    X(reduce_area_clk, 171)     /* adding up a split of K: for every other block's share */        \
    X(stream_clk, 2029)         /* stream-K: handing sums on */                                    \
    X(stream_area_clk, 191)     /* and per output */                                               \
    X(stream_peer_clk, 2512)    /* and for each further block that works on a tile */              \
    X(stream_rest, 0.77)        /* of that, when a partial wave is shared out */                   \
    X(l2_kept, 0.102)           /* of L2: operands that are never read again from DRAM */          \
    X(transpose_rate, 0.73)     /* of the DRAM rate: operands turned before the product */

struct hopper_constants {
#define X(name, value) double name;
    HOPPER_CONSTANTS(X)
#undef X
};

extern const struct hopper_constants hopper_fitted;

#endif
