// SPDX-License-Identifier: Apache-2.0
//
// Small arithmetic functions that every predictor uses. least() and most() return their second
// argument when either is NaN; fmin() and fmax() would hide a NaN and are slower.
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

#endif
