// SPDX-License-Identifier: Apache-2.0
//
// Whether a device is as fast as its sister, by series that were timed on both (pure functions).
#ifndef PLUMB_APART_H
#define PLUMB_APART_H

#include "model/base.h"

struct apart {
    double log_ratio; // of its times to the sister's; NaN without series
    double se;
    bool told; // by more than the places of the series account for
};

// From one log ratio of times per series, same code on both; `differences` is clobbered. The same
// kernel takes up to 0.26 % (SD) more or less in another place of one device
// (baselines/recorded/h200/README.md); that stands for the scatter while there are few series.
struct apart apart_of(double *differences, size_t count);

#endif
