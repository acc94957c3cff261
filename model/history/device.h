// SPDX-License-Identifier: Apache-2.0
//
// How much a new driver moved the same code, from absolute times of runs before and after it (pure
// functions). No pair can be made across drivers, so every other difference of the day is in it:
// the interval comes from how much runs under one driver differ, never from how much samples do.
#ifndef PLUMB_MODEL_HISTORY_DEVICE_H
#define PLUMB_MODEL_HISTORY_DEVICE_H

#include "model/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- a sick device ----
//
// Whether a device itself has become slow: its controls, which cannot have changed, all take longer
// than they did.

// A verdict needs so many controls, and so many points of each before the last two.
enum { SICKNESS_CONTROLS = 3, SICKNESS_EARLIER = 5 };

// One control of the device: its log times in the order of measuring, all under one driver.
struct sickness_control {
    const double *values;
    size_t count;
};

struct sickness {
    bool known;       // there are enough controls with enough points
    bool slow;        // both of the last two points lie beyond the margin
    double log_ratio; // the smaller of the two against what was before: median over the controls
    size_t controls;  // that were judged
};

// A control's level is the median of its points but the last two. One slow run alone is a neighbour
// or a throttled hour; two in a row, of the median control, are the device. `margin` > 0 is
// relative. Needs no more than 64 controls; others are left out.
void sickness_find(struct sickness *out, const struct sickness_control *controls, size_t count,
                   double margin);

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

// Series of a device count together: the median of their shifts, for a day's effect on one series
// is its effect on most. `points` in any order.
void driver_shift_find(struct driver_shift *out, const struct driver_point *points, size_t count);

// ==== controls ====
//
// The effect of a machine on its series, by a control: a series of code that never changed,
// measured beside others. The median of three and more is taken off as it is
// (ci/history/history.h); one or two have noise of their own, which must not become everybody's.

// The level of each value of a control, and both less the level that it began with, in place. Log
// values; NaN: missing.
void control_levels(double *levels, double *control, size_t count);

// Subtracts the machine's effect from `values`, by a control. values[i] and control[i] are of one
// moment; a value stays where its control is missing. Moves of the control's level and its outliers
// are subtracted whole. Of its noise a share is subtracted: as much as the values have in common
// with it. Returns that share, 0 or more.
double control_take_off(double *values, const double *levels, const double *control, size_t count);

#endif
