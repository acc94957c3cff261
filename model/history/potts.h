// SPDX-License-Identifier: Apache-2.0
//
// Piecewise-constant fit with a bounded (biweight) cost, solved exactly.
#ifndef PLUMB_POTTS_H
#define PLUMB_POTTS_H

#include <stddef.h>

struct potts_segment {
    size_t first, end; // values first .. end-1
    double level;      // the m that minimises the cost over the segment
};

// Minimises, over all partitions and levels,
//     sum over segments ( penalty + sum over its values of min((y - level)^2, bound^2) ).
// Returns the segments in order, `*count` of them (0 for no values); the caller frees.
// `values` are finite; bound > 0 and penalty > 0, in the values' unit and its square.
struct potts_segment *potts_fit(size_t *count, const double *values, size_t n, double bound,
                                double penalty);

#endif
