// SPDX-License-Identifier: Apache-2.0
//
// One calibrated factor per kernel identity: what a model cannot know of one implementation.
//
// The factor is a posterior. Before anything is measured a kernel's log(measured / predicted) is
// expected about 0, within the prediction's own band; of its square a third is what the kernel is
// off by everywhere, the rest what one problem is (as recorded sweeps have it). So the median of n
// rows weighs n / (n + 2), and the band of a further row is sqrt(sigma^2 + tau^2 2 / (n + 2)),
// tau^2 being that third and sigma the rows' spread, which what is seen corrects: 1.4826 times the
// median absolute deviation, against 40 rows of the prior. Medians, because a few shapes where the
// model is wrong in form must not move the rest. Without a band the median is taken as it is, and
// the band is the rows' spread, for fewer than 5 rows that of all kernels together. Each prediction
// is made at the clock that was observed while measuring.
#ifndef PLUMB_BIAS_H
#define PLUMB_BIAS_H

#include "model/result.h"

struct bias_row {
    const char *kernel; // identity: name, or name with its code id
    double predicted_ns, measured_ns;
    double band; // of the prediction, 0: unknown
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
