// SPDX-License-Identifier: Apache-2.0
//
// One calibrated factor per kernel identity: what a model cannot know of one implementation.
//
// The factor is the median of measured / predicted over the kernel's rows, taken as a logarithm,
// each prediction made at the clock that was observed while measuring. The band is the robust
// standard deviation around it (1.4826 times the median absolute deviation), for fewer than 5 rows
// that of all kernels together. Medians, because a few shapes where the model is wrong in form must
// not move the rest.
#ifndef PLUMB_BIAS_H
#define PLUMB_BIAS_H

#include "model/result.h"

struct bias_row {
    const char *kernel; // identity: name, or name with its code id
    double predicted_ns, measured_ns;
};

struct bias {
    char kernel[KERNEL_NAME_TEXT];
    double log_factor; // to add to the logarithm of a prediction
    double band;       // one sigma, relative
    uint32_t rows;     // it was fitted to
};

struct bias_table {
    struct bias *items; // sorted by kernel
    size_t count;
};

// Rows without positive times are left out. Always succeeds; free with bias_table_free().
struct bias_table bias_fit(const struct bias_row *rows, size_t count);
void bias_table_free(struct bias_table *table);
const struct bias *bias_find(const struct bias_table *table, const char *kernel); // NULL: none

// Scales a feasible prediction's time and parts, and sets its band. A kernel that has no bias keeps
// the model's own figures.
void bias_apply(struct prediction *prediction, const struct bias_table *table, const char *kernel);

#endif
