// SPDX-License-Identifier: Apache-2.0
//
// Traits from the names of this project's configuration space, so that a recorded sweep can be read
// without the libraries that were timed. A name says all of its row
// (kernels/gemm/cuda/configurations/rows.cuh): type-tile-warpgroups-cluster-stages-epilogue
// pieces-raster-mode, as in bf16-128x256-w2x1-c2x1-s4-e2-m8-coop.
#ifndef PLUMB_SPACE_NAME_H
#define PLUMB_SPACE_NAME_H

#include "model/problem.h"

// False when `name` is none of them; `out` is then untouched. Registers are left unknown.
bool space_traits(struct traits *out, const char *name);
// Whether `word` is one of the name's: a kernel with "dual" makes dual GEMMs, one with "scaled"
// those of FP8 with block scales, and a sweep's rows, which do not say so otherwise, are of these.
bool space_says(const char *name, const char *word);

#endif
