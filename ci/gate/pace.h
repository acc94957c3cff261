// SPDX-License-Identifier: Apache-2.0
//
// How long the work that is left takes: a line through what has been measured in this run, from a
// series' size to the seconds that it took. The line carries what every series costs whatever its
// size (opening, checking, flushing caches), and what a long one costs more.
#ifndef PLUMB_PACE_H
#define PLUMB_PACE_H

#include "ci/gate/task_list.h"

struct pace {
    double count, size, size2, seconds, product; // sums
};

// A series of this size took so many seconds, or is expected to.
void pace_add(struct pace *pace, double size, double seconds);
// Seconds of a series of this size; NaN before anything is known.
double pace_expect(const struct pace *pace, double size);

// A task's size: seconds of one launch, as it was measured last, else from its operations at a
// usual rate. Only what sizes are to each other matters.
int pace_size(double *out, const struct task *task, struct context *context, struct error *err);

#endif
