// SPDX-License-Identifier: Apache-2.0
//
// Slow creep: many changes, each too small to be one, against the last accepted level.
#ifndef PLUMB_CREEP_H
#define PLUMB_CREEP_H

#include "model/base.h"

#include <stdbool.h>
#include <stddef.h>

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
