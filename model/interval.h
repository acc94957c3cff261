// SPDX-License-Identifier: Apache-2.0
//
// A figure with the interval that it lies in. Whoever holds one says what it is of, in which unit
// and with which confidence.
#ifndef PLUMB_INTERVAL_H
#define PLUMB_INTERVAL_H

struct interval {
    double value; // the estimate; NaN: there is none
    double low, high;
};

// Nothing is known: NaN between -infinity and infinity.
extern const struct interval interval_unknown;
// There is none to show: all NaN.
extern const struct interval interval_none;

struct interval interval_about(double value, double half_width);
// What a log ratio and its interval are as relative change: exp(x) - 1 of each.
struct interval interval_relative(struct interval log_ratio);

#endif
