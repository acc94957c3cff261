// SPDX-License-Identifier: Apache-2.0
//
// The branch of the hopper model for kernels whose threads load and multiply themselves: FP32 on
// FMA units (naive, tiled in shared memory, vectorised) and mma.sync on tensor cores. The frame,
// its ends, parts and refusals, is that of hopper.h; this is what the main loop takes. Maths and
// the source of each number stand in simt.c.
#ifndef PLUMB_SIMT_H
#define PLUMB_SIMT_H

#include "model/predict/hopper.h"

// True for products without tensor cores and for traits that say FMA or mma.sync, on a profile
// that has registers and shared memory (the host has not).
bool simt_applies(const struct predict_input *input);
// Dense FLOP per SM and clock of the kernel's instruction; 0 if unknown.
double simt_flops_clk(const struct predict_input *input);
// Blocks per SM of a kernel that does not say: by its threads, registers and shared memory, where
// unknown registers are those that its outputs and operands need.
int32_t simt_blocks_per_sm(const struct hopper_breakdown *breakdown,
                           const struct hopper_terms *terms);
// The main loop: turns, limits_ns, main_ns and its clocked_ns. hopper_chip() comes before.
void simt_main(struct hopper_breakdown *breakdown, const struct hopper_terms *terms);

#endif
