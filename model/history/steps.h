// SPDX-License-Identifier: Apache-2.0
//
// How likely values are as steps in noise whose neighbours resemble each other. The noise's scale
// and correlation are fitted together with the steps; a step that the correlation explains as well
// (model/history/memory.h) is none.
#ifndef PLUMB_STEPS_H
#define PLUMB_STEPS_H

#include "model/history/segmentation.h"

struct steps_fit {
    double log_likelihood; // given the first value, maximised, up to -(n/2) log 2 pi
    double correlation;    // lag 1
    double variance;       // of one value about its level
};

// Levels are the means of the segments, which cover the n values in order; n >= 2.
struct steps_fit steps_fit(const double *values, size_t n, const struct potts_segment *segments,
                           size_t count);

// Joins neighbours, least loss first, until every step gains more than `cost` nats among the 250
// values on either side of it, where none counts as further than `bound` from its own level. Sets
// the levels to the means and returns how many segments are left.
size_t steps_prune(const double *values, size_t n, double bound, struct potts_segment *segments,
                   size_t count, double cost);

#endif
