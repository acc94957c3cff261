// SPDX-License-Identifier: Apache-2.0
//
// The effect of a machine on its series, by a control: a series of code that never changed,
// measured beside others. The median of three and more is taken off as it is
// (ci/history/history.h); one or two have noise of their own, which must not become everybody's.
#ifndef PLUMB_CONTROL_H
#define PLUMB_CONTROL_H

#include <stddef.h>

// The level of each value of a control, and both less the level that it began with, in place. Log
// values; NaN: missing.
void control_levels(double *levels, double *control, size_t count);

// Subtracts the machine's effect from `values`, by a control. values[i] and control[i] are of one
// moment; a value stays where its control is missing. Moves of the control's level and its outliers
// are subtracted whole. Of its noise a share is subtracted: as much as the values have in common
// with it. Returns that share, 0 or more.
double control_take_off(double *values, const double *levels, const double *control, size_t count);

#endif
