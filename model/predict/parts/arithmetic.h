// SPDX-License-Identifier: Apache-2.0
//
// The few operations that every predictor is full of. least() and most() give their second argument
// when either is NaN; fmin() and fmax() would hide one and are slower.
#ifndef PLUMB_ARITHMETIC_H
#define PLUMB_ARITHMETIC_H

#include <math.h>
#include <stdint.h>

static inline double least(double a, double b)
{
    return a < b ? a : b;
}

static inline double most(double a, double b)
{
    return a > b ? a : b;
}

// a >= 0, b > 0
static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

// The least 1, 2 or 5 times a power of ten that cuts `range` (> 0) into at most `parts`.
static inline double round_step(double range, int parts)
{
    double step = pow(10, floor(log10(range / parts)));
    double over = range / parts / step * (1 - 1e-9);
    return step * (over <= 1 ? 1 : over <= 2 ? 2 : over <= 5 ? 5 : 10);
}

#endif
