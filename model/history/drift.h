// SPDX-License-Identifier: Apache-2.0
//
// One solo measurement against the series' own past, when there is no baseline to pair it with.
// Coarse by nature: clocks, heat and placement differ between processes by percents (the maths is
// on top of drift.c). The gate, which pairs, finds what this cannot.
#ifndef PLUMB_DRIFT_H
#define PLUMB_DRIFT_H

#include "model/result.h"

struct drift_policy {
    double prior_sd;   // SD of a log time between processes while the history is short
    double prior_runs; // its weight, in earlier runs
    double margin;     // relative change that counts
    double confidence; // of the interval
};
struct drift_policy drift_policy_default(const char *device_kind);

#define DRIFT_MODEL "drift" // signs these verdicts

// Fills `out` but the sentence. `same_code`: the newest history point ran the same code id,
// so that whatever moved, or cannot be told, is the environment's. No usable history gives
// VERDICT_NEW with NaN ratio and infinite interval.
void drift_judge(struct verdict *out, const struct history *history, const struct measurement *now,
                 bool same_code, const struct drift_policy *policy);
// drift_judge() of `count` times of one code, measured in as many runs: more runs know more.
void drift_hold(struct verdict *out, const struct history *history, const double *times_ns,
                size_t count, bool same_code, const struct drift_policy *policy);

#endif
