// SPDX-License-Identifier: Apache-2.0
//
// Between the two halves of the hopper model: hopper.c sets up the terms and adds the parts,
// hopper_wave.c times one wave, simt.c one of a kernel that does without wgmma.
#ifndef PLUMB_HOPPER_TERMS_H
#define PLUMB_HOPPER_TERMS_H

#include "model/predict/parts/hopper.h"

// All that is fixed for a problem and kernel.
struct hopper_terms {
    const struct predict_input *in;
    const struct gpu *gpu;
    double clock, bytes_in, bytes_out, flops_clk;
    bool tensor;            // multiplied by tensor cores
    bool simt;              // simt_applies(): simt.c times its waves
    int64_t grid_m, grid_n; // tiles, padded to whole clusters
    int64_t sms;            // SMs that clusters of this size can fill
    int32_t cluster_m, cluster_n, cluster, warpgroups, split;
    double k, slabs; // of one block: padded, and counted
};

// The rectangle of the tile grid that the wave's first `tiles` output tiles in raster order cover.
void hopper_lay_raster(struct hopper_wave *wave, const struct hopper_terms *terms, double tiles);
// Bytes of operands that a wave, its rectangle known, reads from DRAM.
double hopper_new_dram_bytes(const struct hopper_breakdown *breakdown,
                             const struct hopper_wave *wave, const struct hopper_terms *terms);
// One wave of `blocks` thread blocks.
struct hopper_wave hopper_wave(const struct hopper_breakdown *breakdown,
                               const struct hopper_terms *terms, int64_t blocks);
// Clocks of a tile's end and the next one's start that do not overlap.
double hopper_overhead_clk(const struct hopper_breakdown *breakdown,
                           const struct hopper_terms *terms);
// Clocks from a block's end to the first multiplication of the one that takes its place.
double hopper_restart_clk(const struct hopper_breakdown *breakdown,
                          const struct hopper_terms *terms);

#endif
