// SPDX-License-Identifier: Apache-2.0
//
// Whether values in a row hold a level of their own, or only met at one that others of the series
// stray to as well. Nothing is assumed of the noise but that its order says nothing.
#ifndef PLUMB_REVISIT_TEST_H
#define PLUMB_REVISIT_TEST_H

#include "model/history/potts.h"

// Joins short segments to a neighbour while chance alone would put as many values as far out in a
// row more often than in one of 200 series, or than the rarest order of a series that short.
// Returns how many segments are left; the level of those that were joined is their median. The
// segments cover the n values in order.
size_t revisit_drop(const double *values, size_t n, struct potts_segment *segments, size_t count);

// Median of its values.
double revisit_level(const double *values, const struct potts_segment *segment);

#endif
