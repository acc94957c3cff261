// SPDX-License-Identifier: Apache-2.0
//
// The rules of other tools, written anew from their description, for comparison only. Every rule
// turns two samples of times (any unit) into a score; it raises an alarm at score >= limit. The
// limit is the tool's own default; lower limits give its receiver operating characteristic.
#ifndef PLUMB_TESTS_HELPER_PEERS_H
#define PLUMB_TESTS_HELPER_PEERS_H

#include "model/base.h"

#include <stddef.h>
#include <stdint.h>

struct peer_data {
    const double *base, *head; // times, in the order taken; pair i is base[i], head[i]
    size_t count;              // of each, >= 4
};

struct peer {
    const char *name;
    const char *rule;
    double limit;
    bool paired; // needs pairs, so it has no meaning for separate runs
    double (*score)(const struct peer_data *data);
};
extern const struct peer peers[];
extern const size_t peer_count;

const struct peer *peer_find(const char *name);

// P(T <= t) of Student's distribution with `degrees` > 0 degrees of freedom.
double student_cdf(double t, double degrees);

// What tests and measurements ask of counted gates beside model/gate/gate.h: how low a rate can
// be, and how a score tells changed cases from others.

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
