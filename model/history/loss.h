// SPDX-License-Identifier: Apache-2.0
//
// The bounded cost min(x^2, bound^2) fitted to a series' own noise: where to stop counting, and
// what a gained unit of cost is worth. Both follow from residuals alone, whatever their
// distribution: normal, spiky, skewed, or of several modes.
#ifndef PLUMB_LOSS_H
#define PLUMB_LOSS_H

#include <stddef.h>

struct loss {
    double scale; // of one value, trimmed: what differences of independent such values would show
    double bound;
    // Nats per unit of cost: chance alone gains a cost of x somewhere about as often as
    // exp(-rate x). 1 / (2 sigma^2) for normal noise.
    double rate;
};

// `sorted`: residuals about their level, ascending, n >= 1. The bound is at most `widest` scales:
// that under which a shift earns most nats per value, in steps of a quarter; one tighter than
// `widest` must earn a tenth more. For residuals without scatter all is 0.
struct loss loss_fit(const double *sorted, size_t n, double widest);

#endif
