// SPDX-License-Identifier: Apache-2.0
//
// The numbers of the hopper model that no profile has: fitted to measured times.
//
// The form is from public measurements of the parts and from what this project's configuration
// space takes per slab at large problems of the fitted list. The numbers are from a robust fit of
// 48,599 cold times at the clock observed inside each kernel: the space's configurations on 147
// problems in TF32, BF16 and FP8 on three H200s (baselines/recorded/h200: ladder/fit.*,
// accuracy/aligned.*, accuracy/odd.*, 2026-11-22). tests/measure/fit_hopper.c is the fit and says
// what it minimises:
//     bin/fit_hopper h200-sxm ladder/fit.*.csv accuracy/aligned.*.csv accuracy/odd.*.csv
// tile_silu alone is from 4,663 times of dual GEMMs (--only tile_silu h200-sxm
// ladder/dual-fit.csv), scale_* from 1,520 of FP8 with block scales (--only scale_ h200-sxm
// ladder/scaled-fit.csv), library_* from cuBLASLt's 31 there (--only library_), decode_* from 152
// of NVFP4 (--only decode_ h200-sxm nvfp4/configurations.csv). What the model is judged on, and by
// which command: baselines/recorded/h200/accuracy.
#ifndef PLUMB_HOPPER_CONSTANTS_H
#define PLUMB_HOPPER_CONSTANTS_H

// name, value. One X per number; clk: SM clocks; "area": per 1024 outputs of a tile.
#define HOPPER_CONSTANTS(X)                                                                        \
    X(fill_clk, 3706)            /* before the first slab, beside the launch */                    \
    X(cluster_s, 9.418e-07)      /* more, when blocks come in clusters */                          \
    X(store_clk, 1901)           /* from the last multiplication to the end */                     \
    X(dram_rate, 0.9608)         /* of the profile's, what kernels reach */                        \
    X(store_rate, 0.9722)        /* of the DRAM rate: the last tiles' store */                     \
    X(alone_clk, 56.99)          /* least of an instruction of a warpgroup by itself */            \
    X(port_bytes_clk, 94.43)     /* into one SM */                                                 \
    X(l2_rate, 1.325)            /* of the profile's L2 rate at the highest clock */               \
    X(l2_near, 0.5829)           /* weight of what neighbours in the raster ask for together */    \
    X(l2_far, 0.2463)            /* more, as operands outgrow the near half */                     \
    X(l2_near_share, 0.3284)     /* of L2, which that half keeps */                                \
    X(line_64, 1.173)            /* cost of rows that are multiples of 64 bytes only */            \
    X(line_32, 1.261)            /* of 32 bytes */                                                 \
    X(line_16, 2.012)            /* of less */                                                     \
    X(latency_s, 1.058e-06)      /* of a load, from memory under load */                           \
    X(tile_area_clk, 110.1)      /* a tile's end, of one warpgroup: nothing overlaps it */         \
    X(tile_next_area_clk, 87.77) /* stored between the next tile's slabs */                        \
    X(tile_ping_area_clk, 39.45) /* another warpgroup multiplies meanwhile */                      \
    X(tile_wide_output, 0.8174)  /* more, per 2 further bytes of an output */                      \
    X(tile_swapped, 1.187)       /* times, where operands are swapped */                           \
    X(tile_silu, 4.108)  /* times, where one of two products is taken by the other's silu */       \
    X(restart_clk, 4388) /* until the multiplications of a block that takes a place */             \
    X(scattered_area_clk, 769.3) /* rows of C that are no multiple of 16 bytes */                  \
    X(scattered_swapped, 0.2318) /* times, where operands are swapped */                           \
    X(promote_clk, 18.67)        /* FP8 sums promoted: each time */                                \
    X(promote_area_clk, 3.901)   /* and of a warpgroup */                                          \
    X(scale_clk, 76.78)          /* with block scales instead: each time */                        \
    X(scale_area_clk, 10.21)     /* and of a warpgroup */                                          \
    X(library_scale, 0.509)      /* times, of a library's kernel with block scales */              \
    X(library_end, 2.05)         /* and of such a kernel's tile ends */                            \
    X(shared_sm, 0.5874)         /* of tile ends, where blocks share an SM */                      \
    X(reduce_area_clk, 144.5)    /* adding up a split of K: for every other block's share */       \
    X(stream_clk, 2222)          /* stream-K: handing sums on */                                   \
    X(stream_area_clk, 195.8)    /* and per output */                                              \
    X(stream_peer_clk, 2402)     /* and for each further block that works on a tile */             \
    X(stream_rest, 0.6121)       /* of that, when a partial wave is shared out */                  \
    X(decode_clk, 836.5)         /* e2m1 in registers: 128 of K, two warpgroups, beside */         \
    X(decode_group_clk, 177.1)   /* and each further warpgroup */                                  \
    X(decode_math, 0.7594)       /* this part of the multiplication */                             \
    X(decode_split_s, 1.593e-06) /* where blocks share K */                                        \
    X(l2_kept, 0.1095)           /* of L2: operands that are never read again from DRAM */         \
    X(transpose_rate, 0.73)      /* of the DRAM rate: operands turned before the product */

struct hopper_constants {
#define X(name, value) double name;
    HOPPER_CONSTANTS(X)
#undef X
};

extern const struct hopper_constants hopper_fitted;
// Of the same form, as far as blackwell.c does not have its own: from 800 times on a B200.
extern const struct hopper_constants blackwell_fitted;

#endif
