// SPDX-License-Identifier: Apache-2.0
//
// Our own model: the time of a GEMM on Hopper (H100, H200). Each SM works through its thread blocks
// in turns, while the whole chip moves data. This page is about kernels whose operands come by bulk
// copies and are multiplied by wgmma. The blocks of other kernels (FP32 without tensor cores,
// mma.sync) are at its end and in parts/simt.c.
//
// A block takes, per slab of K, a soft maximum (power mean) of these times:
//     math     2 tm tn tk / flops_clk, rows padded to the instruction's 64
//     issue    the same, but each instruction of 64 x N x 32 bytes takes at least 57 clocks if no
//              other warpgroup multiplies beside it. The additions of FP8 sums, promoted or scaled
//              by blocks, come in between. With two separate products neither waits alone
//     decode   in place of issue, for E2M1, which is multiplied in FP16: 837 clocks per 128 of K,
//              177 more for each warpgroup beyond two, and 0.76 of math
//     port     the bytes that come into the SM, at 100 a clock
//     latency  0.95 us for a load from memory and 0.3 of DRAM's time, over the slabs in flight.
//              Each slab keeps its place while 0.7 further slabs are multiplied. The slabs that a
//              block asks for at its start are not waited for one by one
// An SM that multiplies runs at 0.91 of the highest clock at most. Where few blocks run, the
// observed clock is that of an SM that does not multiply: on an H200 1.96 GHz, while multiplying
// takes as long as at 1.82 GHz.
//
// The busiest SM takes its blocks in turns of `blocks_per_sm`; the blocks of one turn share math,
// issue and port. A turn takes the soft maximum of that time and of L2's time for all SMs that have
// a block in it; in the last turn some have none. L2's time has two parts:
//     asked    the bytes that all blocks ask for, each operand divided over the cluster. Loads that
//              neighbours in the raster share count 0.41, and loads that blocks of other columns
//              share 0.79. Less is shared where blocks work at parts of K, where two blocks share
//              an SM, and as blocks drift apart: half as much after 500 KB of K each beyond the
//              first turn. Rows that do not begin with a line cost 1.26, 1.39 or 2.21 times as much
//              (64, 32 or fewer bytes), and two fifths of that surplus where neighbours take the
//              rest of the line. Operands beyond L2's nearer half cost 6 % more
//     filled   0.68 of the bytes that come from DRAM, in equal parts a turn
// L2 has a clock of its own. Besides all turns there is the time of the whole chip:
//     dram     the operands once, C, and the operands that are read again, once per band of the
//              raster and turn, because L2 did not keep them
// The main loop takes the soft maximum of both. These times are added to it:
//   - the launch, and the first loads (clusters start 0.8 us later);
//   - per turn, the part of a tile's end that nothing overlaps, per output of a warpgroup. It is
//     longer for 4-byte outputs and swapped operands, four times as long for two products of which
//     one is multiplied by the other's silu, and shorter where blocks share an SM;
//   - the addition of a split K's parts, over a network that all SMs share;
//   - in grids that are not persistent, 4400 clocks until a block's successor multiplies;
//   - the last tile's store.
// Partial sums that blocks leave for others (stream-K, K spread over SMs) go through L2 twice, at
// half of its rate. The block that adds them up waits for every other block's sums; where K is
// spread, each block waits for the sums of all, in turns.
//
// In a stream, a launch that begins early on more than half of the SMs finds no free SMs. Its last
// blocks take whatever places there are: then some clusters of SMs (GPCs) are full while others are
// not, and data come late into the full ones. Rows of C that are no multiple of 16 bytes are stored
// element by element; if all SMs do so, each stores half as fast as one alone.
//
// A prediction never falls when m, n or k grows by whole tiles, and is never below the roofline at
// the same clock: every term above grows with all three, and every way of combining them keeps
// that. Two ways to split K are exceptions. Stream-K shares one tile among all blocks, and waits
// for each of them; with a second tile it waits for fewer. And K spread over SMs is added up the
// sooner, the more parts there are. "constants" below says where the numbers are from.
#ifndef PLUMB_MODEL_PREDICT_HOPPER_H
#define PLUMB_MODEL_PREDICT_HOPPER_H

#include "model/predict.h"
#include "model/problem.h"

#include <math.h>

// ---- constants ----
//
// The numbers of the hopper model that no profile has. They are fitted to measured times. The form
// of the model comes from public measurements of a GPU's parts, and from the time per slab of this
// project's configurations on large problems of the fitted lists. The numbers come from a robust
// fit to 84,259 cold times, each at the clock observed inside its kernel: the configurations on 243
// problems in TF32, BF16 and FP8 on H200s (fe33bcb:baselines/recorded/h200: ladder/fit.*,
// ladder/drawn.*, accuracy/aligned.*, accuracy/odd.*, 2026-11-22). tests/measure/fit_hopper.c is
// the fit and says what it minimises:
//     bin/fit_hopper h200-sxm ladder/{fit,drawn}.*.csv accuracy/{aligned,odd}.*.csv
// Some constants were fitted alone, to other times, with these options:
//     tile_silu    4,663 times of dual GEMMs: --only tile_silu h200-sxm ladder/dual-fit.csv
//     scale_*      1,520 of FP8 with block scales: --only scale_ h200-sxm ladder/scaled-fit.csv
//     library_*    the 31 of cuBLASLt in that file: --only library_
//     decode_*     152 of NVFP4: --only decode_ h200-sxm ladder/nvfp4.csv
//     stream_*, spread_*, sums_rate, l2_apart
//                  4,737 of the first times, of stream-K and K spread over SMs, and 952 in a
//                  stream: --only stream_,spread_,sums_,l2_apart --whole 1
//     gpc_*        16,353 in a stream: --only gpc_
// The times in a stream are of half of the sizes, on two H200s. baselines/recorded/h200/accuracy
// says what the model is judged on, and by which command.

// One X per number: its name and its fitted value. The end of a name is its unit: _clk is SM
// clocks, _s seconds, area_clk clocks per 1,024 outputs of a tile. The other numbers are factors,
// shares and weights, and two counts of bytes.
#define HOPPER_CONSTANTS(X)                                                                        \
    X(fill_clk, 5077)              /* from a block's start to its first slab */                    \
    X(cluster_s, 8.459e-07)        /* added where blocks come in clusters */                       \
    X(store_clk, 143.3)            /* from the last multiplication to the kernel's end */          \
    X(dram_rate, 0.9208)           /* share of the profile's DRAM rate that kernels reach */       \
    X(store_rate, 0.9195)          /* share of that rate at which the last tiles are stored */     \
    X(multiply_clock, 0.9128)      /* share of the highest clock that a multiplying SM has */      \
    X(alone_clk, 51.32)            /* least of an instruction whose warpgroup is alone */          \
    X(port_bytes_clk, 104.5)       /* bytes that come into one SM in a clock */                    \
    X(l2_rate, 1.289)              /* L2's rate over the profile's, at the highest clock */        \
    X(gpc_rate, 0.728)             /* DRAM into full GPCs, over the profile's L2 rate */           \
    X(gpc_l2, 0.524)               /* share of a full GPC's other requests to L2 that wait */      \
    X(l2_near, 0.415)              /* weight of loads that neighbours in the raster share */       \
    X(l2_next, 0.7683)             /* weight of loads that blocks of other columns share */        \
    X(l2_drift, 6.347e+05)         /* bytes of K after which half of the sharing is lost */        \
    X(l2_near_split, 0.4986)       /* share of it left where neighbours do other parts of K */     \
    X(l2_near_twin, 0.7818)        /* share of it left where two blocks share an SM */             \
    X(l2_apart, 0.9694)            /* weight of loads where blocks ask for different slabs */      \
    X(l2_fill, 0.6873)             /* L2's cost of a byte from DRAM, beside one asked for */       \
    X(l2_far, 0.06798)             /* added cost as operands outgrow the near half of L2 */        \
    X(l2_near_share, 0.1908)       /* share of L2 that the near half keeps */                      \
    X(line_64, 1.26)               /* cost of rows that are multiples of 64 bytes only */          \
    X(line_32, 1.389)              /* cost of rows that are multiples of 32 bytes only */          \
    X(line_16, 2.195)              /* cost of rows that are multiples of less */                   \
    X(line_split, 0.4176)          /* part of that cost where neighbours do parts of K */          \
    X(line_port, 1.043)            /* part of that cost at an SM's port */                         \
    X(line_dram, 0.09754)          /* part of that cost at DRAM */                                 \
    X(latency_s, 9.457e-07)        /* of a load from memory under load */                          \
    X(held_slabs, 0.6924)          /* slabs being multiplied, whose places are not free */         \
    X(latency_dram, 0.3018)        /* share of DRAM's time by which loads wait longer */           \
    X(tile_area_clk, 101.9)        /* a tile's end in one warpgroup, not overlapped */             \
    X(tile_next_area_clk, 100.5)   /* a tile's end stored between the next tile's slabs */         \
    X(tile_ping_area_clk, 53.72)   /* a tile's end while another warpgroup multiplies */           \
    X(tile_wide_output, 0.788)     /* added share of a tile's end per 2 more output bytes */       \
    X(tile_swapped, 1.14)          /* factor of a tile's end with swapped operands */              \
    X(tile_silu, 4.215)            /* factor of a tile's end with silu of a second product */      \
    X(restart_clk, 4261)           /* from a block's end to its successor's multiplications */     \
    X(scattered_area_clk, 499.5)   /* storing rows of C that are no multiple of 16 bytes */        \
    X(scattered_swapped, 0.1892)   /* factor of such stores with swapped operands */               \
    X(scattered_split, 0.4611)     /* factor of such stores where parts of K are added up */       \
    X(scattered_tile_clk, 90.53)   /* every output of the tile, tested beside such stores */       \
    X(scattered_chip_clk, 1001)    /* outputs of one SM, where all SMs store so */                 \
    X(promote_clk, 1.012)          /* each promotion of FP8 sums */                                \
    X(promote_area_clk, 6.633)     /* each promotion, per outputs of a warpgroup */                \
    X(scale_clk, 103.2)            /* each addition of sums with block scales */                   \
    X(scale_area_clk, 7.593)       /* each such addition, per outputs of a warpgroup */            \
    X(library_scale, 0.4751)       /* factor of both in a library's kernel with scales */          \
    X(library_end, 2.374)          /* factor of a tile's end in such a kernel */                   \
    X(shared_sm, 0.6732)           /* factor of a tile's end where blocks share an SM */           \
    X(reduce_area_clk, 203.8)      /* adding up another block's part of a split K */               \
    X(sums_rate, 0.5386)           /* share of the profile's L2 rate for sums left in L2 */        \
    X(stream_clk, 3006)            /* stream-K: handing sums on */                                 \
    X(stream_uneven_clk, 1370)     /* stream-K: added where a tile's shares differ */              \
    X(stream_peer_clk, 920.7)      /* stream-K: each further block that works on a tile */         \
    X(stream_peer_area_clk, 14.69) /* stream-K: the same, per outputs */                           \
    X(spread_s, 1.788e-06)         /* K spread over SMs: leaving sums, and the first wait */       \
    X(spread_round_clk, 1506)      /* K spread over SMs: each turn of adding parts up */           \
    X(decode_clk, 826.2)           /* decoding E2M1: 128 of K by two warpgroups */                 \
    X(decode_group_clk, 176)       /* decoding E2M1: each further warpgroup */                     \
    X(decode_math, 0.7472)         /* share of multiplying that decoding does not hide */          \
    X(decode_split_s, 1.871e-06)   /* E2M1: added where blocks share K */                          \
    X(l2_kept, 0.07566)            /* share of L2 that keeps operands until they are reread */     \
    X(l2_holds, 0.8)               /* share of L2 in which a launch finds earlier data */          \
    X(l2_dirty, 0.8)               /* share of L2 that holds lines still to be written back */     \
    X(transpose_rate, 0.73)        /* share of the DRAM rate at which operands are turned */

struct hopper_constants {
#define X(name, value) double name;
    HOPPER_CONSTANTS(X)
#undef X
};

extern const struct hopper_constants hopper_fitted;

// The same constants for Blackwell, where its blocks have no formulas of their own. They are fitted
// to 800 times on a B200.
extern const struct hopper_constants blackwell_fitted;

// ---- CUTLASS's tiles ----
//
// How CUTLASS's persistent scheduler for Hopper walks tiles, and how many blocks run at once.
// Source: NVIDIA/cutlass @7107b05, include/cutlass/gemm/kernel/tile_scheduler_params.h.

// The number of blocks that run at once, one per SM, if each cluster must stay inside a GPC of
// `gpc_sms` SMs. 0 if the cluster does not fit in a GPC. A rule for planning: a device may do a
// little better or worse.
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
// A kernel that states no tile is taken for a library's: the best of select.h's candidates. On
// Hopper it is cuBLASLt's, which multiplies by mma.sync where rows of C are no multiple of 16
// bytes. One that scales sums by blocks and states its tile, but not split_k, is the faster of K
// whole and in two.
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
    bool cublaslt;          // the candidate stands for one of cuBLASLt's on Hopper
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
