// SPDX-License-Identifier: Apache-2.0
//
// What a model cannot know of one implementation, for one type in one regime: a factor, a slope
// with the size, and an offset in time.
//
// A further time of a kernel is taken as predicted * exp(f + s (log predicted - centre)) + offset.
// Whether s and the offset are used is decided by the rows: with ten rows or more, each fifth is
// predicted by the others in each of the four forms, and the form with the least errors is used.
// With fewer rows f and s are used.
// log(measured - offset) - log(predicted) is f + s (...) + noise. A row's noise depends on its
// prediction's own band b: 3/4 of b^2 is the variance of one problem's error, 1/4 that of the
// kernel's error everywhere (f), and b^2 / 12 that of s, within the sizes that were seen. Both are
// posteriors with that prior and with weights 1 / (1 + (rest / noise)^2), because a few shapes
// for which the model has the wrong form must not move the others. If the median row differs by
// more than three times the expected f, then f is expected to be wrong by a third of itself: this
// is not a few shapes, but another device than the profile describes. `centre` is the weighted mean
// of the sizes, at which f and s do not depend on each other. A further row then has the variance
//     spread^2 b^2 + var f + (log predicted - centre)^2 var s + var offset / time^2,
// where spread^2 is 3/4 corrected by the rows: (1.4826 times the median absolute rest in bands)^2,
// with 300 rows' weight on the 3/4. These numbers come from recorded problems to which no bias was
// fitted (baselines/recorded/h200/accuracy). Rows without a band use their plain median and their
// own spread; with fewer than 5 rows they use the spread of all kernels together. Each prediction
// is made at the clock that was observed while measuring.
#ifndef PLUMB_BIAS_H
#define PLUMB_BIAS_H

#include "model/result.h"

struct bias_row {
    const char *kernel; // what identifies the kernel: its name, or its name with its code id
    double predicted_ns, measured_ns;
    double band; // of the model's own prediction; 0: not known
    enum regime regime;
    enum dtype in; // of the problem: kernels of a library for two types share only the library's
                   // name
};

struct bias {
    char kernel[KERNEL_NAME_TEXT];
    double log_factor; // added to the logarithm of a prediction of exp(centre) ns
    double slope;      // change of that per unit of the prediction's logarithm, from `least` to
                       // `most`
    double centre, least, most;
    double offset_ns; // added last; before any row is seen the offset has a standard deviation of 1
                      // us
    enum regime regime;
    enum dtype in;
    double spread;                            // of a further row, in bands; 0: rows have no band
    double factor_sd, slope_sd, offset_sd_ns; // standard deviations of log_factor,
                                              // slope and offset_ns
    double band;                              // one sigma, as a fraction, of a further row at the
                                              // centre
    uint32_t rows;                            // number of rows it was fitted to
};

struct bias_table {
    struct bias *items; // sorted by bias_order()
    size_t count;
};

// Fits biases. Rows without positive times are left out. Always succeeds; free with
// bias_table_free().
struct bias_table bias_fit(const struct bias_row *rows, size_t count);
void bias_table_free(struct bias_table *table);
// NULL: there is none. The bias of one regime or type is never used for another.
const struct bias *bias_find(const struct bias_table *table, const char *kernel,
                             const struct problem *problem);

// Applies a bias to a feasible prediction: scales its time and parts, and sets its band and
// bias_rows. A kernel without a bias keeps the model's own figures.
void bias_apply(struct prediction *prediction, const struct bias_table *table, const char *kernel,
                const struct problem *problem);
// Compares two biases by kernel, then type, then regime: the order of bias_table's items and of a
// file.
int bias_order(const void *left, const void *right);

#endif
