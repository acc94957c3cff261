// SPDX-License-Identifier: Apache-2.0
//
// How much a new driver moved the same code, from absolute times of runs before and after it (pure
// functions). No pair can be made across drivers, so all that was otherwise on the day is in it:
// the interval comes from how much runs under one driver differ, never from how much samples do.
#ifndef PLUMB_DRIVER_SHIFT_H
#define PLUMB_DRIVER_SHIFT_H

#include "model/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One run's time of one series.
struct driver_point {
    size_t series; // any numbering
    int64_t run;
    bool after;      // under the new driver
    double log_time; // less the level of its code, where codes differ
};

struct driver_shift {
    struct interval size; // log ratio, 95 %; without bounds while each driver has one run
    size_t series;        // that have points on both sides; the others are left out
    size_t before, after; // runs of these
    double run_sd;        // of one run, log ratio; NaN with one run each
};
// Series of a device count together: the median of their shifts, for what a day does to one it does
// to most. `points` in any order.
void driver_shift_find(struct driver_shift *out, const struct driver_point *points, size_t count);

#endif
