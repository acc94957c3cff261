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

// The same of values about a level that is not known, and of its step before values[at]; `at` 0:
// none. Without a step it is of the memory that fits best; with one, the mean over noise without
// memory, which has half the weight, and memory of all lengths. What the step explains is divided
// by `louder`, how many times more scatter than that of all values one side shows. 0 < at < n.
double memory_step(const double *values, size_t n, size_t at, double louder);

#endif
