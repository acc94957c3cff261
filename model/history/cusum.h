// SPDX-License-Identifier: Apache-2.0
//
// The statistic of one change of level somewhere in all values so far, kept up to date: about log n
// operations a value (the maths is on top of cusum.c).
#ifndef PLUMB_CUSUM_H
#define PLUMB_CUSUM_H

#include <stddef.h>

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
