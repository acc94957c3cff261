// SPDX-License-Identifier: Apache-2.0
//
// Changes of a series that are none of its level: it creeps, its noise gets louder or calmer, or
// its values come from one of two modes more often than before. None of these is a change point.
#ifndef PLUMB_SHAPE_H
#define PLUMB_SHAPE_H

#include "model/base.h"
#include "model/history/changepoint.h"

#include <stdbool.h>
#include <stddef.h>

struct shape {
    // It moves from its first value to its last along a line, where no change is listed and the
    // line stands out of the noise, memory allowed for.
    bool creeps;
    struct interval creep; // in the unit of the values
    // Standard deviation about the levels, before and from an index on.
    bool louder;
    size_t louder_at;
    double spread_before, spread_after;
    // Share of the values beyond `between`, before and from an index on.
    bool shifts;
    size_t shifts_at;
    double between, share_before, share_after;
};

// Describes the shape of a series. `found` is what changepoints_find() gave for the same values;
// a NaN is a missing value.
void shape_find(struct shape *out, const double *values, size_t n, const struct changepoints *found,
                double confidence);

// Where the noise became calmer for good; 0: nowhere.
size_t shape_calm(const double *values, size_t n, const struct changepoints *found);

// Medians of the finite values first..n-1 and 0..end-1; NaN where there are none.
struct newest_level {
    double level, at_first;
    size_t values; // that `level` is of
};

struct newest_level newest_level(const double *values, size_t first, size_t n, size_t end);

// ---- creep of levels ----
//
// Slow creep: many changes, each too small to be one, against the last accepted level.

// How far the newest values are from an accepted level, whatever path they took there.
struct creep {
    struct interval size; // mean of the values less the epoch's level
    bool moved;           // the interval lies beyond the margin on one side
    double evidence;      // nats, normal, long-run variance
};

// `epoch_se` is the standard error of the level, 0 if it is given. NaN are missing; with fewer than
// three values nothing has moved. `margin` >= 0 in the unit of the values.
struct creep creep_test(double epoch_level, double epoch_se, const double *values, size_t n,
                        double margin, double confidence);

#endif
