// SPDX-License-Identifier: Apache-2.0
//
// Scale and serial correlation of a series' noise, from its differences alone: level shifts and
// outliers barely touch them, so nothing needs to be known of either beforehand.
#ifndef PLUMB_NOISE_H
#define PLUMB_NOISE_H

#include <stddef.h>

// Standard deviation of normal noise from absolute deviations |x|: the mean of the smallest 75 %,
// made consistent for the normal. When more than half are 0 (values that repeat), their root mean
// square, large ones capped, so that only deviations that are all 0 give 0. Sorts `deviations`.
double noise_scale(double *deviations, size_t n);

struct series_noise {
    double sigma;       // of one value; for correlation 1 (a random walk) of one step / sqrt(2)
    double correlation; // lag 1, as if AR(1), in 0..1
};
// Finite values in the order they came. {0, 0} for a constant series or fewer than two values.
struct series_noise noise_estimate(const double *values, size_t n);

// Variance of the mean of many AR(1) values over that of independent ones; correlation < 1.
double noise_inflation(double correlation);

#endif
