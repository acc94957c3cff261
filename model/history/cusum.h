// SPDX-License-Identifier: Apache-2.0
//
// The statistic of one change of level somewhere in all values so far, kept up to date: about log n
// operations a value (the maths is on top of cusum.c).
#ifndef PLUMB_CUSUM_H
#define PLUMB_CUSUM_H

#include <stddef.h>

struct vertex {
    double s, sum;
};

struct hull {
    struct vertex *items;
    size_t count, room;
};

struct cusum {
    struct hull up, down; // `down` is that of the negated sums
    double n, sum;
};

// Chi squared with one degree of freedom for independent normal(0, 1) values and a given place.
struct peak {
    double statistic, s;
}; // values before the change

// Adds a value and returns the largest statistic of a change between any two values. Start from
// zeros; release with cusum_free().
struct peak cusum_push(struct cusum *cusum, double z);
void cusum_clear(struct cusum *cusum); // keeps the memory
void cusum_free(struct cusum *cusum);

#endif
