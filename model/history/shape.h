// SPDX-License-Identifier: Apache-2.0
//
// Changes of a series other than those of its level: it creeps, its noise gets louder or calmer, or
// its values come from one of two modes more often than before. None of these is a change point.
#ifndef PLUMB_SHAPE_H
#define PLUMB_SHAPE_H

#include "model/base.h"
#include "model/history/changepoint.h"

#include <stdbool.h>
#include <stddef.h>

struct shape {
    // The series moves along a line from its first value to its last. No change is listed, and the
    // line is larger than the noise, with memory allowed for.
    bool creeps;
    struct interval creep; // in the unit of the values
    // The noise is louder on one side of an index: the standard deviations about the levels, before
    // it and from it on.
    bool louder;
    size_t louder_at;
    double spread_before, spread_after;
    // Values change between two modes more or less often from an index on: the shares of values
    // beyond `between`, before it and from it on.
    bool shifts;
    size_t shifts_at;
    double between, share_before, share_after;
};

// Describes the shape of a series. `found` is the result of changepoints_find() for the same
// values; a NaN is a missing value.
void shape_find(struct shape *out, const double *values, size_t n, const struct changepoints *found,
                double confidence);

// Finds the index from which on the noise is calmer; 0: there is none.
size_t shape_calm(const double *values, size_t n, const struct changepoints *found);

// Medians of the finite values first..n-1 and 0..end-1; NaN where there are none.
struct newest_level {
    double level, at_first;
    size_t values; // number of values that `level` comes from
};

struct newest_level newest_level(const double *values, size_t first, size_t n, size_t end);

// ---- creep of levels ----
//
// Slow creep: many changes, each too small to be found, relative to the last accepted level.

// The distance of the newest values from an accepted level, whatever path they took.
struct creep {
    struct interval size; // mean of the values less the accepted level
    bool moved;           // the interval lies beyond the margin on one side
    double evidence;      // in nats, for normal noise with its long-run variance
};

// Tests for creep. `epoch_se` is the standard error of the accepted level, 0 if the level is given.
// NaN values are missing; with fewer than three values nothing has moved. `margin` >= 0 is in the
// unit of the values.
struct creep creep_test(double epoch_level, double epoch_se, const double *values, size_t n,
                        double margin, double confidence);

#endif
