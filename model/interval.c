// SPDX-License-Identifier: Apache-2.0
//
// Intervals: those that say nothing, those about a value, and of log ratios as relative changes.
#include "model/interval.h"

#include <math.h>

const struct interval interval_unknown = {NAN, -INFINITY, INFINITY};
const struct interval interval_none = {NAN, NAN, NAN};

struct interval interval_about(double value, double half_width)
{
    return (struct interval){value, value - half_width, value + half_width};
}

struct interval interval_relative(struct interval log_ratio)
{
    return (struct interval){expm1(log_ratio.value), expm1(log_ratio.low), expm1(log_ratio.high)};
}
