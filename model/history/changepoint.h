// SPDX-License-Identifier: Apache-2.0
//
// Finds change points of one series, offline: where its level moved, by how much, how certain that
// is, and at which points the move may have happened. The defaults suit any series: unknown unit
// and scale, outliers, serial correlation, missing values, ten points or ten thousand.
//
// A change is an abrupt shift of the level that lasts. An isolated outlier is no change, and
// neither is a level that wanders; that is called drift.
#ifndef PLUMB_CHANGEPOINT_H
#define PLUMB_CHANGEPOINT_H

#include "model/base.h"

#include <stdbool.h>
#include <stddef.h>

// ==== periodic patterns ====
//
// A pattern that recurs after a fixed number of values, as over the days of a week. It is neither a
// change of level nor a drift. It is reported, and subtracted before changes are looked for.

struct pattern {
    size_t period; // number of values after which it recurs; 0: there is none
    double swing;  // from its lowest to its highest point, in the unit of the values
};

// Subtracts a pattern from the values. NaN and infinite values are missing, but count in the
// period.
struct pattern pattern_take_off(double *values, size_t n);

// ==== change points ====

// Raised whenever the same values give other changes than before, so that stored conclusions can be
// recognised as out of date.
#define CHANGEPOINT_VERSION 14

struct changepoint_options {
    // Twice the gain in log-likelihood that a change must bring, for independent normal noise and
    // many points. 14 gives about one false change per 100,000 points
    // (tests/measure/bench_changepoint.c). For serial correlation and for short series it is raised
    // automatically.
    double penalty;
    double bound;      // residuals count up to so many standard deviations (biweight)
    double confidence; // of intervals and credible sets, e.g. 0.95
};
extern const struct changepoint_options changepoint_defaults;

// One change. Indices are those of the series as given, missing values included.
struct change {
    size_t index;            // first value at the new level
    size_t earliest, latest; // credible set: the new level begins with one of these values
    double before, after;    // robust levels of the segments before and after
    struct interval size;    // after - before
    double evidence; // log-likelihood ratio, in nats, of a change against none, with correlation
                     // allowed for
};

struct changepoints {
    struct change *changes; // sorted by index
    size_t count;
    size_t used;  // number of values that were not missing
    double sigma; // standard deviation of one value about its level; at most that of all values
    double correlation;     // at lag 1
    double inflation;       // variance of a mean, as a multiple of that for independent values
    bool drift;             // the level wanders; only jumps that are larger than its wandering are
                            // listed
    struct pattern pattern; // the pattern that was subtracted; everything else describes the rest
};

// Finds the changes. NaN and infinite values are missing. `options` NULL means the defaults. Any n
// is allowed, 0 included. `out` is released with changepoints_free().
void changepoints_find(struct changepoints *out, const double *values, size_t n,
                       const struct changepoint_options *options);
// Does the same for a series whose `count` changes were found when it had fewer values. Such a
// change stays as long as the values next to it support it. Its index must lie within the values.
void changepoints_more(struct changepoints *out, const double *values, size_t n,
                       const struct change *earlier, size_t count);
// Does what changepoints_more() does with a single pass, which is quick and finds fewer changes.
void changepoints_again(struct changepoints *out, const double *values, size_t n,
                        const struct change *earlier, size_t count);
void changepoints_free(struct changepoints *changepoints);

#endif
