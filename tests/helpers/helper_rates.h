// SPDX-License-Identifier: Apache-2.0
//
// What tests and measurements ask of counted gates beside model/gate/study.h: how low a rate can
// be, and how a score tells changed cases from others.
#ifndef PLUMB_TESTS_HELPER_RATES_H
#define PLUMB_TESTS_HELPER_RATES_H

#include <stddef.h>
#include <stdint.h>

// Clopper-Pearson, one-sided: the smallest p with P(X >= hits | p) >= 1 - confidence. No trials: 0.
double rate_lower(uint64_t hits, uint64_t trials, double confidence);

// Receiver operating characteristic of a score: for every threshold the share of null and of
// changed cases at or above it. Points run from (0,0) to (1,1) with falling threshold; out has room
// for nulls + changes + 1. Returns how many. NaN scores count as lowest.
struct roc_point {
    double threshold, false_rate, true_rate;
};
size_t roc_points(struct roc_point *out, const double *null_scores, size_t nulls,
                  const double *changed_scores, size_t changes);
// Area under it: 0.5 = guessing.
double roc_area(const struct roc_point *points, size_t count);

#endif
