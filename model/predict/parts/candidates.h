// SPDX-License-Identifier: Apache-2.0
//
// The configurations that a library has to choose from: what select.h searches, and what a kernel
// that says nothing of its tile is taken to be the best of.
#ifndef PLUMB_CANDIDATES_H
#define PLUMB_CANDIDATES_H

#include "model/predict.h"

// How many there are for this problem; the same for every size of it.
size_t candidate_count(const struct gpu *gpu, const struct problem *problem);
// The index-th; false when this profile has no room for it.
bool candidate(struct traits *out, const struct gpu *gpu, const struct problem *problem,
               size_t index);
// Configurations that multiply by mma.sync, on GPUs that have wgmma too.
size_t candidate_mma_count(void);
bool candidate_mma(struct traits *out, const struct gpu *gpu, const struct problem *problem,
                   size_t index);

#endif
