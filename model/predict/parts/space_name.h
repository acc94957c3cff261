// SPDX-License-Identifier: Apache-2.0
//
// Reads traits from the names of this project's configurations, so that a recorded sweep can be
// used without the libraries that were timed. A name gives the whole row
// (kernels/gemm/cuda/configurations/rows.cuh): type-tile-warpgroups-cluster-stages-epilogue
// pieces-raster-mode, as in bf16-128x256-w2x1-c2x1-s4-e2-m8-coop.
#ifndef PLUMB_SPACE_NAME_H
#define PLUMB_SPACE_NAME_H

#include "model/problem.h"

// False when `name` is no such name; `out` is then untouched. Registers stay unknown.
bool space_traits(struct traits *out, const char *name);
// Whether `word` is a part of the name. A kernel with "dual" computes dual GEMMs, one with "scaled"
// FP8 with block scales; rows of a sweep do not say this in any other way.
bool space_says(const char *name, const char *word);

#endif
