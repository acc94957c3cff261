// SPDX-License-Identifier: Apache-2.0
//
// Our own model: a GEMM on Hopper (H100, H200) as turns of thread blocks on each SM, beside what
// the whole chip moves. What follows is of kernels whose operands come by bulk copies and are
// multiplied by wgmma; what a block of the others takes (FP32 without tensor cores, mma.sync)
// stands at the end, and in parts/simt.c.
// A block takes, per slab of K, a soft maximum (power mean) of
//     math     2 tm tn tk / flops_clk, rows padded to the instruction's 64
//     issue    the same with each instruction of 64 x N x 32 bytes at least 57 clocks long when no
//              other warpgroup multiplies beside it, and FP8 sums promoted, or scaled by blocks, in
//              between; of two products whose instructions are apart, neither waits alone
//     decode   of E2M1, which is multiplied in FP16: 837 clocks per 128 of K, 177 more for each
//              warpgroup beyond two, and 0.76 of math; in place of issue
//     port     the bytes that come into the SM, at 100 a clock
//     latency  0.95 us of a load from memory and 0.3 of the time that DRAM takes, over the slabs in
//              flight, each of which keeps its place for 0.7 slabs' multiplication more; the slabs
//              that a block asks for at its start are not waited for one by one
// An SM that multiplies runs at 0.91 of the highest clock at most. Where few blocks run, the
// observed clock is that of an SM that does not: 1.96 GHz on an H200, whose math takes as long as
// 1.82 GHz would.
// The busiest SM takes its blocks in turns, `blocks_per_sm` at a time; blocks at one time share
// math, issue and port. A turn is the soft maximum of that and of what L2 takes for the blocks of
// all SMs that have one in it: of those alone that are left, in the last. L2 takes
//     asked    the bytes that all blocks ask for, each operand divided over the cluster. What
//              neighbours in the raster ask for together counts 0.41, and what blocks of other
//              columns do 0.79; less so where they work at parts of K, where two share an SM, and
//              as blocks drift apart, by half once they took 500 KB of K each beyond the first
//              turn. Rows that do not begin with a line cost 1.26, 1.39 or 2.21 times as much (64,
//              32 or fewer bytes), two fifths of that more where neighbours take the rest of the
//              line; operands beyond L2's nearer half 6 %
//     filled   0.68 of the bytes that come from DRAM, in equal parts a turn
// L2 has a clock of its own. Beside all turns the whole chip takes
//     dram     operands once, C, and what is read again, once per band of the raster and turn, and
//              L2 did not keep
// and the main loop is the soft maximum of both. Around it stand the launch, the first loads
// (clusters start 0.8 us later), per turn what of a tile's end does not overlap (per output of a
// warpgroup; more for 4-byte outputs and swapped operands; four times as much for two products, one
// of which is taken by the other's silu; less where blocks share an SM), adding up a split of K,
// over a network that all SMs share, 4400 clocks before a block's successor multiplies in grids
// that are not persistent, and the last tile's store. Sums that blocks leave for others (stream-K,
// K spread over SMs) go through L2 twice, at half of its rate; the block that adds them up waits
// for each other's, or in turns for those of all.
// In a stream a launch that begins early on more than half of the SMs finds no SMs of its own, and
// its last blocks take the places that there are: so some clusters of SMs (GPCs) are full while
// others are not, and what comes into a full one is late. Rows of C that are no multiple of 16
// bytes are stored element by element: half as fast when all SMs do it as when one does. A
// prediction never falls when m, n or k grows by whole tiles, and never lies below the roofline at
// the same clock: each of the terms above grows with all three, and every way of combining them
// keeps that. Two ways to split K do not: stream-K shares one tile among as many blocks as there
// are, each further one is waited for, and with a second tile fewer are; and what K is spread over
// is added up the sooner, the more parts there are.
// Where the constants are from: "constants" below.
#ifndef PLUMB_MODEL_PREDICT_HOPPER_H
#define PLUMB_MODEL_PREDICT_HOPPER_H

#include "model/predict.h"
#include "model/problem.h"

#include <math.h>

// ---- constants ----
//
// The numbers of the hopper model that no profile has: fitted to measured times.
// The form is from public measurements of the parts and from what this project's configuration
// space takes per slab at large problems of the fitted lists. The numbers are from a robust fit of
// 84,259 cold times at the clock observed inside each kernel: the space's configurations on 243
// problems in TF32, BF16 and FP8 on H200s (fe33bcb:baselines/recorded/h200: ladder/fit.*,
// ladder/drawn.*, accuracy/aligned.*, accuracy/odd.*, 2026-11-22). tests/measure/fit_hopper.c is
// the fit and says what it minimises:
//     bin/fit_hopper h200-sxm ladder/{fit,drawn}.*.csv accuracy/{aligned,odd}.*.csv
// tile_silu alone is from 4,663 times of dual GEMMs (--only tile_silu h200-sxm
// ladder/dual-fit.csv), scale_* from 1,520 of FP8 with block scales (--only scale_ h200-sxm
// ladder/scaled-fit.csv), library_* from cuBLASLt's 31 there (--only library_), decode_* from 152
// of NVFP4 (--only decode_ h200-sxm ladder/nvfp4.csv). stream_*, spread_*, sums_rate and l2_apart
// are from the 4,737 rows of stream-K and K spread over SMs among the first and 952 in a stream
// (--only stream_,spread_,sums_,l2_apart --whole 1), gpc_* from 16,353 in a stream (--only gpc_):
// those are of half of the sizes on two H200s. What the model is judged on, and by which command:
// baselines/recorded/h200/accuracy.

// name, value. One X per number; clk: SM clocks; "area": per 1024 outputs of a tile.
#define HOPPER_CONSTANTS(X)                                                                        \
    X(fill_clk, 5077)            /* before the first slab, beside the launch */                    \
    X(cluster_s, 8.459e-07)      /* more, when blocks come in clusters */                          \
    X(store_clk, 143.3)          /* from the last multiplication to the end */                     \
    X(dram_rate, 0.9208)         /* of the profile's, what kernels reach */                        \
    X(store_rate, 0.9195)        /* of the DRAM rate: the last tiles' store */                     \
    X(multiply_clock, 0.9128)    /* of the highest clock: an SM's that multiplies */               \
    X(alone_clk, 51.32)          /* least of an instruction of a warpgroup by itself */            \
    X(port_bytes_clk, 104.5)     /* into one SM */                                                 \
    X(l2_rate, 1.289)            /* of the profile's L2 rate at the highest clock */               \
    X(gpc_rate, 0.728)           /* of the profile's L2 rate: from DRAM into full GPCs */          \
    X(gpc_l2, 0.524)             /* part of what else they ask of L2, which waits there */         \
    X(l2_near, 0.415)            /* weight of what neighbours in the raster ask for together */    \
    X(l2_next, 0.7683)           /* and of what other columns' blocks do */                        \
    X(l2_drift, 6.347e+05)       /* bytes of K, over which half of them have drifted apart */      \
    X(l2_near_split, 0.4986)     /* part of that, where neighbours work at parts of K */           \
    X(l2_near_twin, 0.7818)      /* and where two blocks share an SM */                            \
    X(l2_apart, 0.9694)          /* weight where blocks ask for other slabs at one time */         \
    X(l2_fill, 0.6873)           /* what comes from DRAM, beside what is asked for */              \
    X(l2_far, 0.06798)           /* more, as operands outgrow the near half */                     \
    X(l2_near_share, 0.1908)     /* of L2, which that half keeps */                                \
    X(line_64, 1.26)             /* cost of rows that are multiples of 64 bytes only */            \
    X(line_32, 1.389)            /* of 32 bytes */                                                 \
    X(line_16, 2.195)            /* of less */                                                     \
    X(line_split, 0.4176)        /* that part of it, where neighbours work at parts of K */        \
    X(line_port, 1.043)          /* that part of it at an SM's port */                             \
    X(line_dram, 0.09754)        /* and at DRAM */                                                 \
    X(latency_s, 9.457e-07)      /* of a load, from memory under load */                           \
    X(held_slabs, 0.6924)        /* slabs that are being multiplied, before their place is free */ \
    X(latency_dram, 0.3018)      /* of the time at DRAM: loads wait longer, the more of them */    \
    X(tile_area_clk, 101.9)      /* a tile's end, of one warpgroup: nothing overlaps it */         \
    X(tile_next_area_clk, 100.5) /* stored between the next tile's slabs */                        \
    X(tile_ping_area_clk, 53.72) /* another warpgroup multiplies meanwhile */                      \
    X(tile_wide_output, 0.788)   /* more, per 2 further bytes of an output */                      \
    X(tile_swapped, 1.14)        /* times, where operands are swapped */                           \
    X(tile_silu, 4.215)  /* times, where one of two products is taken by the other's silu */       \
    X(restart_clk, 4261) /* until the multiplications of a block that takes a place */             \
    X(scattered_area_clk, 499.5)   /* rows of C that are no multiple of 16 bytes */                \
    X(scattered_swapped, 0.1892)   /* times, where operands are swapped */                         \
    X(scattered_split, 0.4611)     /* times, where parts of K are added up */                      \
    X(scattered_tile_clk, 90.53)   /* and of the whole tile, whose outputs are asked about */      \
    X(scattered_chip_clk, 1001)    /* of one SM's outputs, where all SMs store so */               \
    X(promote_clk, 1.012)          /* FP8 sums promoted: each time */                              \
    X(promote_area_clk, 6.633)     /* and of a warpgroup */                                        \
    X(scale_clk, 103.2)            /* with block scales instead: each time */                      \
    X(scale_area_clk, 7.593)       /* and of a warpgroup */                                        \
    X(library_scale, 0.4751)       /* times, of a library's kernel with block scales */            \
    X(library_end, 2.374)          /* and of such a kernel's tile ends */                          \
    X(shared_sm, 0.6732)           /* of tile ends, where blocks share an SM */                    \
    X(reduce_area_clk, 203.8)      /* adding up a split of K: for every other block's share */     \
    X(sums_rate, 0.5386)           /* of the profile's L2 rate: sums left for other blocks */      \
    X(stream_clk, 3006)            /* stream-K: handing sums on */                                 \
    X(stream_uneven_clk, 1370)     /* more, where a tile's shares are not alike */                 \
    X(stream_peer_clk, 920.7)      /* and for each further block that works on a tile */           \
    X(stream_peer_area_clk, 14.69) /* and its outputs */                                           \
    X(spread_s, 1.788e-06)         /* K spread over SMs: leaving sums, and the first wait */       \
    X(spread_round_clk, 1506) /* and for each turn of adding up, in which parts are waited for */  \
    X(decode_clk, 826.2)      /* e2m1 in registers: 128 of K, two warpgroups, beside */            \
    X(decode_group_clk, 176)  /* and each further warpgroup */                                     \
    X(decode_math, 0.7472)    /* this part of the multiplication */                                \
    X(decode_split_s, 1.871e-06) /* where blocks share K */                                        \
    X(l2_kept, 0.07566)          /* of L2: operands that are never read again from DRAM */         \
    X(l2_holds, 0.8)             /* of L2, which a launch finds again */                           \
    X(l2_dirty, 0.8)             /* of L2, which was written and not yet stored */                 \
    X(transpose_rate, 0.73)      /* of the DRAM rate: operands turned before the product */

struct hopper_constants {
#define X(name, value) double name;
    HOPPER_CONSTANTS(X)
#undef X
};

extern const struct hopper_constants hopper_fitted;

// Of the same form, as far as blocks on Blackwell do not have its own: from 800 times on a B200.
extern const struct hopper_constants blackwell_fitted;

// ---- CUTLASS's tiles ----
//
// How CUTLASS's persistent scheduler for Hopper walks tiles, and how many blocks run at once.
// Source: NVIDIA/cutlass @7107b05, include/cutlass/gemm/kernel/tile_scheduler_params.h.

// Blocks that run at once, one per SM, when clusters must stay inside a GPC of `gpc_sms` SMs. 0 if
// the cluster does not fit in a GPC. A rule for planning: a device may do a little better or worse.
int32_t cutlass_resident_blocks(int32_t gpc_sms, int32_t cluster_size, int32_t sm_count);

// ---- the model ----

enum hopper_limit {
    HOPPER_MATH,
    HOPPER_ISSUE,
    HOPPER_PORT,
    HOPPER_LATENCY,
    HOPPER_L2,
    HOPPER_DRAM,
    HOPPER_SHARED, // kernels whose threads load and multiply themselves, simt.c
    HOPPER_LIMITS
};

// Times in nanoseconds.
struct hopper_breakdown {
    int32_t tile_m, tile_n, tile_k, stages, blocks_per_sm; // the values used
    int64_t blocks, resident;                              // total, and how many run at once
    // How many turns of blocks the busiest SM takes.
    double turns;
    // Bytes of operands requested from L2, and all bytes from DRAM.
    double l2_bytes, dram_bytes;
    // Time of the whole kernel if only this limit existed.
    double limits_ns[HOPPER_LIMITS];
    double l2_fill_ns;       // part of HOPPER_L2's time, for data that comes from DRAM
    enum hopper_limit limit; // the largest
    double launch_ns, fill_ns, main_ns, overhead_ns, store_ns, split_ns;
    double transpose_ns; // transposing operands that the instruction cannot read in their layout
    double time_ns, clock_hz;
    double clocked_ns; // the part of time_ns that is proportional to 1 / clock
    double band;       // one sigma of log(measured / predicted) for kernels without a bias
    double band_95;    // the band that contains 95 of 100 measured times
    bool even;         // rows of operands and of C begin at addresses that L2 and bulk stores
                       // handle well
};

// NULL, or a static text: "infeasible" reasons (registers, shared memory, cluster, profile).
// A kernel that states no tile is taken for a library's: the best of select.h's candidates. One
// that scales sums by blocks and states its tile, but not split_k, is the faster of K whole and in
// two.
const char *hopper(struct hopper_breakdown *out, const struct predict_input *input);

// ---- terms ----
//
// Shared by hopper.c, which computes them, and parts/simt.c.

// Everything that is fixed for a problem and a kernel.
struct hopper_terms {
    const struct predict_input *in;
    const struct gpu *gpu;
    const struct hopper_constants *fit;
    double clock, bytes_in, bytes_out, flops_clk;
    double bytes_read;      // bytes of an operand's element, with its share of the block scale
    double weights;         // 2 when two products share A and give one C, else 1
    bool tensor;            // tensor cores multiply
    bool simt;              // simt_applies(): simt.c says how long a block takes
    bool blackwell;         // "blocks on Blackwell" says how long a block takes
    bool decodes;           // the type is E2M1 on Hopper, which multiplies it in FP16
    bool swapped;           // the instruction's 64 rows run along N
    int64_t grid_m, grid_n; // numbers of tiles, padded to whole clusters
    double products;        // number of products in the batch, or of groups that have rows
    double rows, columns;   // total over all matrices A, and over all matrices B
    double tiles_m;         // rows of tiles of all products together
    bool library;           // the kernel is a library's, for which hopper_halves() stands
    bool as_they_come;      // a block takes its next tile as soon as it has finished one
    int64_t sms;            // number of SMs that clusters of this size can fill
    int32_t cluster_m, cluster_n, cluster, split;
    int32_t warpgroups; // number that multiply
    int32_t together;   // how many of these work on one tile
    double k, slabs;    // the K of one block, padded; and its number of slabs
    double line;        // the cost for L2 of one chunk of an operand's row; 1 if it is a whole line
    bool scatters;      // C is stored element by element
};

// ==== kernels whose threads load and multiply ====
//
// The branch of the hopper model for kernels whose threads load and multiply themselves: FP32 on
// FMA units (naive, tiled in shared memory, vectorised) and mma.sync on tensor cores. hopper.h
// computes everything around the main loop; this branch computes the main loop. simt.c has the
// maths and the source of each number.

// Whether the branch applies: to products without tensor cores and to traits that name FMA or
// mma.sync, on a profile with registers and shared memory (the host has none).
bool simt_applies(const struct predict_input *input);
// Dense FLOP per SM and clock of the kernel's instruction; 0: not known.
double simt_flops_clk(const struct predict_input *input);
// The blocks per SM of a kernel that does not state them: by its threads, registers and shared
// memory. Registers that are not known are estimated from the outputs and operands.
int32_t simt_blocks_per_sm(const struct hopper_breakdown *breakdown,
                           const struct hopper_terms *terms);
// Computes the main loop: turns, limits_ns, main_ns and its part of clocked_ns. Call it after
// hopper_chip().
void simt_main(struct hopper_breakdown *breakdown, const struct hopper_terms *terms);

#endif
