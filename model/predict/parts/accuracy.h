// SPDX-License-Identifier: Apache-2.0
//
// How good a model's predictions are on measured data, and the baselines that must stand beside.
//
// Errors are |predicted / measured - 1|. Kendall's tau-b ranks the configurations of one problem,
// averaged over problems that have at least two; picked / best is the measured time of the best
// configuration over that of the one the model would pick (A/BF in seed 3), 1 = always the best.
// The S-curve (seed 0) is predicted / measured of all rows, sorted.
#ifndef PLUMB_ACCURACY_H
#define PLUMB_ACCURACY_H

#include "model/buffer.h"
#include "model/problem.h"

struct accuracy_row {
    const char *problem;              // configurations of one problem share the text
    double predicted_ns, measured_ns; // both positive
    const char *kernel;               // NULL: not told
    double band;                      // of the prediction, one sigma; 0: it has none
    double band_95;                   // that 95 of 100 lie in
};

struct accuracy {
    size_t rows;
    double mape, median, p90, p99, worst; // relative errors
    double bias;                          // mean of log(predicted / measured)
    double within_10;                     // share of rows with an error of at most 10 %
    double within_sigma, within_2_sigma;  // of rows with a band: |log(ratio)| within it; NaN: none
    double mean_ratio, median_ratio, least_ratio, most_ratio;
    double tau; // NaN when no problem has two configurations with different times
    size_t tau_problems;
    double picked, picked_worst; // NaN when no problem has two configurations
    size_t picked_problems;
};

// All zero (tau, picked: NaN) for no rows.
struct accuracy accuracy_of(const struct accuracy_row *rows, size_t count);

// The ranking of one problem's configurations, as seed 3 tells it of each size.
struct accuracy_problem {
    const char *problem;
    size_t configurations;
    double tau;                        // NaN: the times, or the predictions, are all equal
    double picked;                     // the best time over that of the configuration picked
    size_t picked_rank;                // of the one picked, among the measured times, from 1
    const struct accuracy_row *choice; // the one picked
};
// Of every problem with two configurations and more, in the order of their names; sorts `rows`. The
// caller frees what is returned.
struct accuracy_problem *accuracy_by_problem(size_t *count, struct accuracy_row *rows,
                                             size_t row_count);

// Kendall's tau-b of two rankings; NaN when one of them has no two different values.
double kendall_tau(const double *a, const double *b, size_t count);

// The best constant-utilisation baseline: the u that makes peak_ns / u err least in the mean over
// the rows, where peak_ns[i] is the time of row i's arithmetic at the peak rate. Any analytic model
// must beat it to be worth its name.
double best_utilisation(const double *peak_ns, const double *measured_ns, size_t count);

// The S-curve as CSV: rank, share, ratio, problem, kernel. reports/charts draws it.
void accuracy_scurve_csv(struct buffer *out, const struct accuracy_row *rows, size_t count);

#endif
