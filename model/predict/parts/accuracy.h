// SPDX-License-Identifier: Apache-2.0
//
// How good a model's predictions are on measured data, and the baselines that are
// shown beside them.
//
// Errors are |predicted / measured - 1|. Kendall's tau-b ranks the configurations of one problem;
// it is averaged over problems with at least two. picked / best is the measured time of the best
// configuration over that of the configuration that the model would pick (A/BF in seed 3); 1:
// always the best. The S-curve (seed 0) is predicted / measured of all rows, sorted.
#ifndef PLUMB_ACCURACY_H
#define PLUMB_ACCURACY_H

#include "model/buffer.h"
#include "model/problem.h"

struct accuracy_row {
    const char *problem;              // configurations of one problem have the same text here
    double predicted_ns, measured_ns; // both positive
    const char *kernel;               // NULL: not told
    double band;                      // one sigma of the prediction; 0: it has none
    double band_95;                   // the band that contains 95 of 100
};

struct accuracy {
    size_t rows;
    double mape, median, p90, p99, worst; // relative errors
    double bias;                          // mean of log(predicted / measured)
    double within_10;                     // share of rows with an error of at most 10 %
    double within_sigma, within_2_sigma;  // share of the rows with a band whose |log(ratio)| lies
                                          // within it; NaN: there are none
    double mean_ratio, median_ratio, least_ratio, most_ratio;
    double tau; // NaN when no problem has two configurations with different times
    size_t tau_problems;
    double picked, picked_worst; // NaN when no problem has two configurations
    size_t picked_problems;
};

// Computes the figures. All are zero (tau, picked: NaN) if there are no rows.
struct accuracy accuracy_of(const struct accuracy_row *rows, size_t count);

// How the configurations of one problem are ranked; seed 3 gives this for each size.
struct accuracy_problem {
    const char *problem;
    size_t configurations;
    double tau;                        // NaN: all times, or all predictions, are equal
    double picked;                     // the best time over the time of the configuration that the
                                       // model picks
    size_t picked_rank;                // the picked one's rank among the measured times, from 1
    const struct accuracy_row *choice; // the configuration that the model picks
};
// Computes this for every problem with at least two configurations, sorted by the problems' names;
// sorts `rows`. The caller frees the result.
struct accuracy_problem *accuracy_by_problem(size_t *count, struct accuracy_row *rows,
                                             size_t row_count);

// Kendall's tau-b of two rankings; NaN if all values of one of them are equal.
double kendall_tau(const double *a, const double *b, size_t count);

// The best baseline with constant utilisation: the u with which peak_ns / u has the least mean
// error over the rows. peak_ns[i] is the time of row i's arithmetic at the peak rate. An analytic
// model is only useful if it beats this.
double best_utilisation(const double *peak_ns, const double *measured_ns, size_t count);

// The S-curve as CSV: rank, share, ratio, problem, kernel. reports/charts draws it.
void accuracy_scurve_csv(struct buffer *out, const struct accuracy_row *rows, size_t count);

#endif
