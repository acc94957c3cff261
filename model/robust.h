// SPDX-License-Identifier: Apache-2.0
//
// Robust location and scale, and scales that use information from other series (pure functions).
// Inputs are finite; `work` arrays are overwritten.
#ifndef PLUMB_ROBUST_H
#define PLUMB_ROBUST_H

#include "model/base.h"

// Sorts in ascending order.
void robust_sort(double *values, size_t count);
// The median; NaN for count 0. Sorts `work`.
double robust_median(double *work, size_t count);
// 1.4826 x the median absolute deviation from the median, which for a normal sample is the standard
// deviation. Sorts `work`.
double robust_sd(double *work, size_t count);

struct robust_mean {
    double mean; // 10 % are trimmed off each side; NaN without data
    double se;   // from the winsorized standard deviation (Tukey, McLaughlin 1963); INFINITY below
                 // 2 values
};
struct robust_mean robust_mean(double *work, size_t count);

// The prior for a variance: a scaled inverse chi-square with `weight` degrees of freedom about
// sd^2.
struct moderation {
    double sd;
    double weight; // INFINITY: all series share one variance; 0: nothing is known
};
// Combines a series' own standard deviation with the prior: sqrt((weight sd0^2 + degrees sd^2) /
// (weight + degrees)).
double moderate_sd(struct moderation prior, double sd, double degrees);

// The random-effects mean of several estimates (DerSimonian and Laird 1986). `between` is the
// standard deviation of the true values between the groups. count >= 1; standard errors > 0 and
// finite.
struct pooled {
    double mean, se, between;
};
struct pooled pool_random_effects(const double *mean, const double *se, size_t count);

// Tail probabilities of distributions that libm lacks.
double normal_cdf(double z);
double normal_quantile(double p); // 0 < p < 1
// The regularised incomplete beta function I_x(a, b), a, b > 0, 0 <= x <= 1 (continued fraction,
// Lentz).
double incomplete_beta(double a, double b, double x);

#endif
