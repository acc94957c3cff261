// SPDX-License-Identifier: Apache-2.0
//
// The configurations that a library has to choose from: what select.h searches, and what a kernel
// that says nothing of its tile is taken to be the best of.
#ifndef PLUMB_CANDIDATES_H
#define PLUMB_CANDIDATES_H

#include "model/predict.h"

struct candidate_set {
    const struct candidate_choice *items;
    size_t count;
    bool threads_load;      // no bulk copies: threads load for themselves
    enum multiply multiply; // by which instruction; MULTIPLY_UNKNOWN: by the GPU's own
};
// Those for this problem, the same for every size of it.
struct candidate_set candidates_of(const struct gpu *gpu, const struct problem *problem);
// Those that multiply by mma.sync, on GPUs that have wgmma too.
struct candidate_set candidates_mma(void);
// The index-th; false when this profile has no room for it.
bool candidate(struct traits *out, const struct candidate_set *all, const struct gpu *gpu,
               const struct problem *problem, size_t index);

#endif
