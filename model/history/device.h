// SPDX-License-Identifier: Apache-2.0
//
// By how much a new driver changed the time of the same code, from absolute times of runs before
// and after it (pure functions). No pair can be measured across drivers, so the difference contains
// everything else that differed that day. Therefore its interval comes from the differences between
// runs under one driver, never from those between samples.
#ifndef PLUMB_MODEL_HISTORY_DEVICE_H
#define PLUMB_MODEL_HISTORY_DEVICE_H

#include "model/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- a sick device ----
//
// Whether a device itself has become slow: its controls, which cannot have changed, all take longer
// than before.

// The least number of controls for a verdict, and of each control's points before the last two.
enum { SICKNESS_CONTROLS = 3, SICKNESS_EARLIER = 5 };

// One control of the device: its log times in the order of measuring, all under the same driver.
struct sickness_control {
    const double *values;
    size_t count;
};

struct sickness {
    bool known;       // there are enough controls with enough points
    bool slow;        // both of the last two points lie beyond the margin
    double log_ratio; // median over the controls of the smaller of the last two log ratios to the
                      // earlier level
    size_t controls;  // number of controls that were judged
};

// Judges a device. A control's level is the median of its points without the last two. A single
// slow run may be due to a neighbour or a throttled hour; two in a row, for the median control, are
// due to the device. `margin` > 0 is a fraction. Uses at most 64 controls and ignores further ones.
void sickness_find(struct sickness *out, const struct sickness_control *controls, size_t count,
                   double margin);

// The time of one series in one run.
struct driver_point {
    size_t series; // numbers are the caller's choice
    int64_t run;
    bool after;      // under the new driver
    double log_time; // without the level of its code, where codes differ
};

struct driver_shift {
    struct interval size; // log ratio, 95 %; without bounds if each driver has only one run
    size_t series;        // series with points on both sides; others are left out
    size_t before, after; // number of runs on each side
    double run_sd;        // standard deviation of one run's log ratio; NaN if each side has one run
};

// Computes the shift of a device: the median over its series, because what a day does to one series
// it does to most. `points` may be in any order.
void driver_shift_find(struct driver_shift *out, const struct driver_point *points, size_t count);

// ==== controls ====
//
// How a machine affects its series, measured by a control: a series of code that never changed,
// measured beside the others. With three or more controls their median is subtracted as it is
// (ci/history/history.h). One or two have noise of their own, which must not be passed on to all
// series.

// Computes the level of each value of a control, and subtracts the first level from both arrays in
// place. Values are logs; NaN: missing.
void control_levels(double *levels, double *control, size_t count);

// Subtracts the machine's effect from `values` by means of a control. values[i] and control[i]
// belong to the same moment; where the control is missing, the value stays. Moves of the control's
// level and its outliers are subtracted completely. Of its noise a share is subtracted: as much as
// the values have in common with it. Returns that share, 0 or more.
double control_take_off(double *values, const double *levels, const double *control, size_t count);

#endif
