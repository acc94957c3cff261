// SPDX-License-Identifier: Apache-2.0
//
// Judges a single measurement against the series' own past, when there is no base to pair it with.
// It is coarse, because clocks, heat and placement differ between processes by percents (drift.c
// begins with the maths). The gate uses pairs and finds smaller changes.
#ifndef PLUMB_DRIFT_H
#define PLUMB_DRIFT_H

#include "model/result.h"

struct drift_policy {
    double prior_sd;   // standard deviation of a log time between processes, used while the history
                       // is short
    double prior_runs; // weight of prior_sd, in runs
    double margin;     // relative change from which on a difference counts
    double confidence; // of the interval
};
struct drift_policy drift_policy_default(const char *device_kind);

#define DRIFT_MODEL "drift" // the model named in these verdicts

// Fills in `out` except the sentence. `same_code`: the newest point of the history ran the same
// code id, so that every movement, and also an undecided one, is due to the environment. Without a
// usable history it gives VERDICT_NEW with a NaN ratio and an infinite interval.
void drift_judge(struct verdict *out, const struct history *history, const struct measurement *now,
                 bool same_code, const struct drift_policy *policy);
// Does the same for `count` times of one code, measured in as many runs; more runs give a narrower
// interval.
void drift_hold(struct verdict *out, const struct history *history, const double *times_ns,
                size_t count, bool same_code, const struct drift_policy *policy);

#endif
