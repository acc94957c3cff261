// SPDX-License-Identifier: Apache-2.0
//
// Online detection: has the level changed among the newest values, up or down, by any amount and
// since any of them, at a stated rate of false alarms? What it needs to know of the series (scale,
// memory, threshold) it learns from the series itself.
#ifndef PLUMB_FOCUS_H
#define PLUMB_FOCUS_H

#include "model/history/changepoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct focus_options {
    double false_alarms; // per value, e.g. 1e-4
    double bound;        // values count up to this many standard deviations from the level
    size_t learn;        // values before the first alarm is possible
    uint64_t seed;       // of the block permutation
};

enum focus_state {
    FOCUS_LEARNING, // too few values, or no noise to compare with
    FOCUS_QUIET,
    FOCUS_DRIFT, // the level wanders: no alarms; shape.h says how far it is from an epoch
    FOCUS_ALARM,
};

// Of a series whose segmentation is `found`: has its level changed among the newest 50 values, and
// the segmentation does not have it yet? All but those are the past that level, scale and threshold
// are learned from. `options` NULL: the defaults. NaN and infinite values are left out. On
// FOCUS_ALARM `out` says where and how much, with indices into `values`; else it is left alone.
// Costs one segmentation more, O(n log n), and the permutations only if the statistic is above what
// any threshold is.
enum focus_state focus_newest(struct change *out, const double *values, size_t n,
                              const struct changepoints *found,
                              const struct focus_options *options);

// ---- sums that forget ----
//
// The statistic of one change of level somewhere in all values so far, kept up to date: about log n
// operations a value (the maths: focus.c, "sums that forget").

// A place where a change may be: between the first `s` values, whose sum is `sum`, and the others.
struct vertex {
    double s, sum;
};

// The places that can still become the best one: a convex hull, by ascending s.
struct hull {
    struct vertex *items;
    size_t count, room;
};

struct cusum {
    struct hull up, down; // of changes upwards, and of those downwards by the negated sums
    double n, sum;        // of all values so far
};

// The most likely change so far.
struct peak {
    double
        statistic; // at a given place chi squared with 1 degree of freedom, of normal(0, 1) values
    double s;      // values before it
};

// Adds a value and returns the largest statistic of a change between any two values. Start from
// zeros; release with cusum_free().
struct peak cusum_push(struct cusum *cusum, double z);

void cusum_clear(struct cusum *cusum); // keeps the memory

void cusum_free(struct cusum *cusum);

#endif
