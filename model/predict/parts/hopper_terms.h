// SPDX-License-Identifier: Apache-2.0
//
// Between the parts of the hopper model: hopper.c sets up the terms and adds the parts,
// hopper_block.c says what one block of a tensor-core kernel takes and the busiest SM with it,
// simt.c the same of kernels that do without wgmma, blackwell.c on Blackwell, hopper_chip.c what
// the whole chip moves, hopper_library.c what is taken for a kernel that leaves its configuration
// open.
#ifndef PLUMB_HOPPER_TERMS_H
#define PLUMB_HOPPER_TERMS_H

#include "model/predict/parts/hopper.h"
#include "model/predict/parts/hopper_constants.h"

#include <math.h>

// All that is fixed for a problem and kernel.
struct hopper_terms {
    const struct predict_input *in;
    const struct gpu *gpu;
    const struct hopper_constants *fit;
    double clock, bytes_in, bytes_out, flops_clk;
    double bytes_read;      // of an element of an operand, with its block's scale
    double weights;         // 2 when two products share A and one C comes of them, else 1
    bool tensor;            // multiplied by tensor cores
    bool simt;              // simt_applies(): simt.c says what a block takes
    bool blackwell;         // blackwell.c says what a block takes
    bool decodes;           // E2M1 on Hopper, which multiplies it in FP16
    bool swapped;           // the instruction's 64 rows lie along N
    int64_t grid_m, grid_n; // tiles, padded to whole clusters
    double products;        // of the batch, or groups that have rows
    double rows, columns;   // of all matrices A; of all matrices B
    double tiles_m;         // rows of tiles, all products'
    bool library;           // hopper_halves() is what it stands for
    bool as_they_come;      // blocks take tiles when they are done with others
    int64_t sms;            // SMs that clusters of this size can fill
    int32_t cluster_m, cluster_n, cluster, split;
    int32_t warpgroups; // that multiply
    int32_t together;   // of these, at one tile
    double k, slabs;    // of one block: padded, and counted
    double line;        // what a chunk of an operand row costs L2, 1 when it is a line
};

// The soft maximum of two times: the power mean of exponent 4 or 8, whose roots are square roots.
static inline double hopper_soft_max(double a, double b, int exponent)
{
    double most = a > b ? a : b, least = a > b ? b : a;
    if (!(least > 0))
        return most;
    double ratio = least / most, square = ratio * ratio, fourth = square * square;
    if (exponent == 4)
        return most * sqrt(sqrt(1 + fourth));
    return most * sqrt(sqrt(sqrt(1 + fourth * fourth)));
}

// d log(soft maximum) / d log(a).
static inline double hopper_soft_share(double a, double soft_max, int exponent)
{
    double ratio = soft_max > 0 ? a / soft_max : 0, square = ratio * ratio;
    double fourth = square * square;
    return exponent == 4 ? fourth : fourth * fourth;
}

// Sets the blocks, and a part's slabs, of K that is spread over all SMs.
void hopper_spread(struct hopper_breakdown *breakdown, struct hopper_terms *terms);
// Tensor cores: fills turns, limits_ns, main_ns (what the busiest SM takes), overhead_ns and the
// clocked_ns of both.
void hopper_blocks(struct hopper_breakdown *breakdown, const struct hopper_terms *terms);
// The same on Blackwell.
void blackwell_blocks(struct hopper_breakdown *breakdown, const struct hopper_terms *terms);
double blackwell_store_clk(const struct hopper_breakdown *breakdown,
                           const struct hopper_terms *terms);
// Groups: sets the terms that count rows, and the tile to the mean of them.
void hopper_lay_groups(struct hopper_breakdown *breakdown, struct hopper_terms *terms);
// One product for each group, one after the other; as hopper().
const char *hopper_each_group(struct hopper_breakdown *out, const struct predict_input *input);
// A library's best configuration, of select's candidates; as hopper().
const char *hopper_library(struct hopper_breakdown *out, const struct predict_input *input);
// A kernel that says all it has to: its tile and split of K. library: see hopper_halves().
const char *hopper_one(struct hopper_breakdown *out, const struct predict_input *input,
                       bool library);
// Whether a kernel leaves open if it divides K in two: it states its tile, scales sums by blocks,
// and does not state split_k. Then the faster of both ways; as hopper().
bool hopper_may_halve(const struct traits *traits, const struct problem *problem);
const char *hopper_halves(struct hopper_breakdown *out, const struct predict_input *input);
// What the whole chip moves: fills dram_bytes, l2_bytes and their limits_ns. dram_bytes is without
// the stores of the tiles that are last (hopper_last_stores()).
void hopper_chip(struct hopper_breakdown *breakdown, const struct hopper_terms *terms);
// Warm, and all of the problem fits in L2: a launch just before left it there.
bool hopper_in_l2(const struct hopper_terms *terms);
double hopper_last_stores(const struct hopper_breakdown *breakdown,
                          const struct hopper_terms *terms);

#endif
