// SPDX-License-Identifier: Apache-2.0
//
// How good the gate is: exact bounds on counted rates, the smallest change it can see, its ROC, and
// whether a run's own A/A pairs void it (pure functions).
#ifndef PLUMB_STUDY_H
#define PLUMB_STUDY_H

#include "model/gate/gate.h"

// Clopper-Pearson: the exact interval for a probability after `hits` of `trials`. One-sided each:
// the upper bound is the largest p with P(X <= hits | p) >= 1 - confidence. trials 0: 0 and 1.
double study_rate_upper(uint64_t hits, uint64_t trials, double confidence);
double study_rate_lower(uint64_t hits, uint64_t trials, double confidence);
// P(X >= hits), X binomial.
double binomial_tail(uint64_t hits, uint64_t trials, double p);

// Smallest log ratio that the gate calls slower (by symmetry, faster) with probability `power`
// within `pairs` pairs of one process whose log ratios have standard deviation `sd`: there must be
// both evidence against `floor` and an estimate of at least `margin`. Normal noise; INFINITY if no
// change is detectable with so few pairs.
double study_detectable(const struct gate_policy *policy, double sd, uint32_t pairs, double power);

// Receiver operating characteristic of a score: for every threshold the share of null and of
// changed cases at or above it. Points run from (0,0) to (1,1) with falling threshold; out has room
// for nulls + changes + 1. Returns how many. NaN scores count as lowest.
struct roc_point {
    double threshold, false_rate, true_rate;
};
size_t study_roc(struct roc_point *out, const double *null_scores, size_t nulls,
                 const double *changed_scores, size_t changes);
// Area under it: 0.5 = guessing.
double study_roc_area(const struct roc_point *points, size_t count);

// The run's test of itself, from the verdicts of its A/A series. Void if there are more alarms, or
// stronger evidence, than chance gives with probability 0.01 (0.005 each). No series: not void.
struct self_test study_self_test(const struct verdict *verdicts, size_t count, double alpha);

#endif
