// SPDX-License-Identifier: Apache-2.0
//
// Whether a few values in a row are a level of their own, or outliers of the kind that the series
// has elsewhere too and that came in a row by chance. The noise may have any distribution; only its
// order is taken to be random.
#ifndef PLUMB_REVISIT_TEST_H
#define PLUMB_REVISIT_TEST_H

#include "model/history/segmentation.h"

// Joins a short segment to a neighbour when chance alone would put that many values, that far out,
// in a row in more than one of 200 series. (A very short series has too few orders for such odds;
// then its rarest order is the limit.) Returns how many segments are left; the level of those that
// were joined is their median. The segments cover the n values in order.
size_t revisit_drop(const double *values, size_t n, struct potts_segment *segments, size_t count);

// Median of its values.
double revisit_level(const double *values, const struct potts_segment *segment);

#endif
