// SPDX-License-Identifier: Apache-2.0
//
// Studies, for the room's own use: inside a transaction.
#ifndef PLUMB_BASELINES_STUDY_H
#define PLUMB_BASELINES_STUDY_H

#include "baselines/statement.h"

// Its columns, in the schema's order.
#define STUDY_COUNTS(X) X(gates) X(first_alarms) X(slower) X(faster) X(same) X(undecided) X(broken)
#define STUDY_REALS(X)  X(pairs) X(time_ns) X(log_ratio) X(pair_sd) X(detectable) X(gpu_s) X(wall_s)

// Its verdicts add up to its gates.
bool study_sound(const struct study_result *study);
// Fills run->studies; the run's id, devices and arena are there.
int load_study(struct run *run, struct store *store, struct error *err);

#endif
