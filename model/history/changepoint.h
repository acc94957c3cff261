// SPDX-License-Identifier: Apache-2.0
//
// Change points of one series, offline: where its level moved, by how much, how surely, and which
// points the move may have happened at. The defaults are meant for any series as it comes: unknown
// unit and scale, outliers, serial correlation, missing values, ten points or ten thousand.
//
// A change is an abrupt shift of level that lasts. Isolated outliers are none, and neither is a
// series that wanders: that is called drift.
#ifndef PLUMB_CHANGEPOINT_H
#define PLUMB_CHANGEPOINT_H

#include "model/base.h"

#include <stdbool.h>
#include <stddef.h>

// ==== a pattern that comes again ====
//
// A pattern that comes again after so many values, as of the days of a week. It is no change of
// level, and no drift: it is told, and taken off before changes are looked for.

struct pattern {
    size_t period; // values after which it comes again; 0: there is none
    double swing;  // from its lowest place to its highest, in the unit of the values
};

// Takes a pattern off the values. NaN and infinite ones are missing, and count in the period.
struct pattern pattern_take_off(double *values, size_t n);

// ==== changepoint ====

// Raised whenever the same values give other changes than before, so that kept conclusions about a
// series can be told to be out of date.
#define CHANGEPOINT_VERSION 14

struct changepoint_options {
    // Twice the log-likelihood gain that a change must bring, for independent normal noise and many
    // points. 14 gives about one false change per 100,000 points
    // (tests/measure/bench_changepoint.c); it is raised by itself for serial correlation and for
    // short series.
    double penalty;
    double bound;      // residuals count up to this many standard deviations (biweight)
    double confidence; // of intervals and credible sets, e.g. 0.95
};
extern const struct changepoint_options changepoint_defaults;

// One change, in indices of the series as given (missing values counted).
struct change {
    size_t index;            // first value at the new level
    size_t earliest, latest; // credible set: the first new value is one of earliest..latest
    double before, after;    // robust levels of the segments on both sides
    struct interval size;    // after - before
    double evidence; // log-likelihood ratio, in nats, change against none, correlation allowed for
};

struct changepoints {
    struct change *changes; // in order of index
    size_t count;
    size_t used;  // values that were not missing
    double sigma; // standard deviation of one value about its level; at most that of all values
    double correlation; // lag 1
    double inflation;   // variance of a mean, relative to independent values
    bool drift;         // the level wanders: only jumps that stand out of the wandering are listed
    struct pattern pattern; // that was taken off; all the rest is of what it leaves
};

// NaN and infinite values are missing. `options` NULL means the defaults. Any n, 0 included.
// `out` is released with changepoints_free().
void changepoints_find(struct changepoints *out, const double *values, size_t n,
                       const struct changepoint_options *options);
// changepoints_find() of a series whose `count` changes were found when it had fewer values: they
// stay as long as the values next to them bear them out. The caller hands in no change whose index
// lies outside the values.
void changepoints_more(struct changepoints *out, const double *values, size_t n,
                       const struct change *earlier, size_t count);
// changepoints_more() with a single look at the series, which is quick, and sees less.
void changepoints_again(struct changepoints *out, const double *values, size_t n,
                        const struct change *earlier, size_t count);
void changepoints_free(struct changepoints *changepoints);

#endif
