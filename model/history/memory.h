// SPDX-License-Identifier: Apache-2.0
//
// How likely values are as noise alone, whose neighbours resemble each other and which has no step.
// A step is believed where this explains the values much worse.
#ifndef PLUMB_MEMORY_H
#define PLUMB_MEMORY_H

#include <stddef.h>

// The log-likelihood of values about a known level, given the first, maximised over the noise's
// scale and correlation, up to the constant -(n/2) log 2 pi. n >= 2, finite.
double memory_fit(const double *residual, size_t n);

#endif
