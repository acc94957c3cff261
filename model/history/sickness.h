// SPDX-License-Identifier: Apache-2.0
//
// Whether a device itself has become slow: its controls, which cannot have changed, all take longer
// than they did.
#ifndef PLUMB_SICKNESS_H
#define PLUMB_SICKNESS_H

#include <stdbool.h>
#include <stddef.h>

// Controls that are needed, and points of each before the two that are judged.
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

#endif
