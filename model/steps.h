// SPDX-License-Identifier: Apache-2.0
//
// Likelihood of steps in AR(1) noise, scale and correlation fitted with them.
#ifndef PLUMB_STEPS_H
#define PLUMB_STEPS_H

#include "model/potts.h"

struct steps_fit {
    double log_likelihood; // given the first value, maximised, up to -(n/2) log 2 pi
    double correlation;    // lag 1
    double variance;       // of one value about its level
};

// Levels are the means of the segments, which cover the n values in order; n >= 2.
struct steps_fit steps_fit(const double *values, size_t n, const struct potts_segment *segments,
                           size_t count);

// Joins neighbours, least loss first, until every step gains more than `cost` nats. Sets the levels
// to the means and returns how many segments are left; `*fit` is theirs.
size_t steps_prune(struct steps_fit *fit, const double *values, size_t n,
                   struct potts_segment *segments, size_t count, double cost);

#endif
