// SPDX-License-Identifier: Apache-2.0
//
// Which configuration a model would choose: every candidate is predicted, the fastest wins.
#ifndef PLUMB_SELECT_H
#define PLUMB_SELECT_H

#include "model/predict/origami.h"

struct selection {
    struct traits traits;      // tile, stages, cluster, threads, raster_group, split_k
    double time_ns, launch_ns; // launch_ns: of it, where the model tells
    int32_t tried, valid;
    enum bound bound;
};

// Origami selects in its own two phases, as wide as `search` says; the other models ignore it and
// choose among what libraries are built with (candidates.h). Ties go to the first candidate.
// Returns NULL, or a static text that says why nothing could be chosen.
// The `most` best, best first, `*count` of them. `in` has no traits: they are what is chosen.
const char *select_best(struct selection *out, size_t *count, size_t most,
                        const struct model *model, const struct predict_input *in,
                        const struct origami_search *search);

#endif
