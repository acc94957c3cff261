// SPDX-License-Identifier: Apache-2.0
//
// The threshold of online detection, from the past of the series that is watched; of focus.c.
#ifndef PLUMB_MODEL_FOCUS_THRESHOLD_H
#define PLUMB_MODEL_FOCUS_THRESHOLD_H

#include "model/history/focus.h"

#include <stddef.h>

// What the statistic of a stream like z[0..n) (n > 0; residuals in units of the noise, clipped at
// options->bound) exceeds once in 1 / (options->false_alarms * share) values. `inflation`, >= 1: by
// how much correlation inflates the variance of their means; `share`, in (0, 1]: what is left of
// the rate for errors of level and scale.
double focus_threshold(const double *z, size_t n, double inflation, double share,
                       const struct focus_options *options);

// No threshold is below: one outlier scores up to bound^2 and must never do, however regular the
// past was.
double focus_threshold_least(const struct focus_options *options);

#endif
