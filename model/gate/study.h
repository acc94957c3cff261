// SPDX-License-Identifier: Apache-2.0
//
// How good the gate is: an exact bound on counted rates, the smallest change it can see, and
// whether a run's own A/A pairs void it (pure functions).
#ifndef PLUMB_STUDY_H
#define PLUMB_STUDY_H

#include "model/gate/gate.h"

// Clopper-Pearson, one-sided: the largest p with P(X <= hits | p) >= 1 - confidence, after `hits`
// of `trials`. No trials: 1.
double study_rate_upper(uint64_t hits, uint64_t trials, double confidence);
// P(X >= hits), X binomial.
double binomial_tail(uint64_t hits, uint64_t trials, double p);

// Smallest log ratio that the gate calls slower (by symmetry, faster) with probability `power`
// within `pairs` pairs of one process whose log ratios have standard deviation `sd`: there must be
// both evidence against `floor` and an estimate of at least `margin`. Normal noise; INFINITY if no
// change is detectable with so few pairs.
double study_detectable(const struct gate_policy *policy, double sd, uint32_t pairs, double power);

// The run's test of itself, from the verdicts of its A/A series. Void if there are more alarms, or
// stronger evidence, than chance gives with probability 0.01 (0.005 each). No series: not void.
struct self_test study_self_test(const struct verdict *verdicts, size_t count, double alpha);
// The tests of a run's parts together, as if one run had made them.
struct self_test study_self_tests(const struct self_test *parts, size_t count, double alpha);

#endif
