// SPDX-License-Identifier: Apache-2.0
//
// What a model cannot know of one implementation, of one type in one regime: a factor, a slope with
// the size, and an offset in time.
//
// A further time of a kernel is taken as predicted * exp(f + s (log predicted - centre)) + offset.
// Whether s and the offset are there at all is asked of the rows: each fifth of ten or more is
// predicted by the others in each of the four forms, and the form with the least errors stays.
// Fewer rows have f and s. log(measured - offset) - log(predicted) is f + s (...) + noise, where a
// row's noise goes with its prediction's own band b: 3/4 of b^2 is what one problem is off, 1/4
// what the kernel is off everywhere (f), and s, within the sizes that were seen, is off by b^2
// / 12. Both are posteriors against that, with weights 1 / (1 + (rest / noise)^2), because a few
// shapes where the model is wrong in form must not move the others. But where the median row is off
// by more than three of what is expected of f, f is expected to be off by a third of itself: then
// it is not a few shapes, it is another device than the profile says. `centre` is the weighted mean
// of the sizes, at which f and s do not depend on each other. A further row then has the variance
//     spread^2 b^2 + var f + (log predicted - centre)^2 var s + var offset / time^2,
// where spread^2 is 3/4 corrected by what is seen: (1.4826 times the median absolute rest in
// bands)^2, against 300 rows of the 3/4. The numbers are from recorded problems that no bias was
// fitted to (baselines/recorded/h200/accuracy). Rows without a band have the median as it is, and
// their own spread, for fewer than 5 rows that of all kernels together. Each prediction is made at
// the clock that was observed while measuring.
#ifndef PLUMB_BIAS_H
#define PLUMB_BIAS_H

#include "model/result.h"

struct bias_row {
    const char *kernel; // identity: name, or name with its code id
    double predicted_ns, measured_ns;
    double band; // of the prediction, 0: unknown
    enum regime regime;
    enum dtype in; // of the problem: a library's kernels of two types have only its name in common
};

struct bias {
    char kernel[KERNEL_NAME_TEXT];
    double log_factor; // to add to the logarithm of a prediction of exp(centre) ns
    double slope;      // of that with the logarithm of the prediction, from `least` to `most`
    double centre, least, most;
    double offset_ns; // added at last; the offset itself has sd 1 us before a row is seen
    enum regime regime;
    enum dtype in;
    double spread;                            // of a further row, in bands; 0: rows had none
    double factor_sd, slope_sd, offset_sd_ns; // how well each is known
    double band;                              // one sigma, relative, of a further row at the centre
    uint32_t rows;                            // it was fitted to
};

struct bias_table {
    struct bias *items; // as bias_order() has them
    size_t count;
};

// Rows without positive times are left out. Always succeeds; free with bias_table_free().
struct bias_table bias_fit(const struct bias_row *rows, size_t count);
void bias_table_free(struct bias_table *table);
// NULL: none; neither regimes nor types stand in for each other.
const struct bias *bias_find(const struct bias_table *table, const char *kernel,
                             const struct problem *problem);

// Scales a feasible prediction's time and parts, and sets its band and its bias_rows. A kernel that
// has no bias keeps the model's own figures.
void bias_apply(struct prediction *prediction, const struct bias_table *table, const char *kernel,
                const struct problem *problem);
// Of bias_table's items and of what a file holds: by kernel, then type, then regime.
int bias_order(const void *left, const void *right);

#endif
