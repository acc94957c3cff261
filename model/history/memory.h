// SPDX-License-Identifier: Apache-2.0
//
// Likelihood of noise that remembers for a while: what a step must be unlikely under before it is
// believed.
#ifndef PLUMB_MEMORY_H
#define PLUMB_MEMORY_H

#include <stddef.h>

// Of values about a known level, given the first, maximised over scale and memory, up to the
// constant -(n/2) log 2 pi. n >= 2, finite.
double memory_fit(const double *residual, size_t n);

#endif
