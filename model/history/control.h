// SPDX-License-Identifier: Apache-2.0
//
// What a machine did, by a control: a series of code that never changed, measured beside others.
// The median of three and more is taken off as it is (ci/history/history.h); one or two have noise
// of their own, which must not become everybody's.
#ifndef PLUMB_CONTROL_H
#define PLUMB_CONTROL_H

#include <stddef.h>

// The level of each value of a control, and both less the level that it began with, in place. Log
// values; NaN: missing.
void control_levels(double *levels, double *control, size_t count);

// Takes off `values` what the control says of the machine; both side by side, and what has no
// control stays. Where its level moved, and what stands out of its noise, is taken off whole; of
// its noise the share that the values have in common with it. Returns that share, from 0 on.
double control_take_off(double *values, const double *levels, const double *control, size_t count);

#endif
