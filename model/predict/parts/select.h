// SPDX-License-Identifier: Apache-2.0
//
// Which configuration a model would choose: every candidate is predicted, the fastest wins.
#ifndef PLUMB_SELECT_H
#define PLUMB_SELECT_H

#include "model/predict.h"
#include "model/predict/origami.h"

struct selection {
    struct traits traits;      // tile, stages, cluster, threads, raster_group, split_k
    double time_ns, launch_ns; // launch_ns: of it, where the model tells
    int32_t tried, valid;
    enum bound bound;
};

// Origami selects in its own two phases, as wide as `search` says; the other models ignore it and
// choose among what libraries are built with (below). Ties go to the first candidate.
// Returns NULL, or a static text that says why nothing could be chosen.
// The `most` best, best first, `*count` of them. `in` has no traits: they are what is chosen.
const char *select_best(struct selection *out, size_t *count, size_t most,
                        const struct model *model, const struct predict_input *in,
                        const struct origami_search *search);

// ==== configurations to choose from ====
//
// The configurations that a library has to choose from: what select_best() searches, and what a
// kernel that says nothing of its tile is taken to be the best of.

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
