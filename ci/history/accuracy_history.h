// SPDX-License-Identifier: Apache-2.0
//
// How good a model was, run by run: per model, kernel, type and device, over all problems of
// one run. Change points of the bias catch a regression of the model as one of a kernel is caught.

#ifndef PLUMB_ACCURACY_HISTORY_H
#define PLUMB_ACCURACY_HISTORY_H

#include "ci/history/history.h"

struct run_accuracy {
    int64_t run_id;
    int64_t time_s;
    char commit[OBJECT_ID_TEXT];
    size_t count;
    double mape, bias, within; // relative; bias: mean of actual / predicted - 1; within 10 %
    double tau;                // rank correlation of predicted and actual; NaN below 2
};

struct accuracy_series {
    const char *model; // name and version, of the newest run
    const char *kernel;
    enum dtype dtype;
    const char *device_uuid;
    struct run_accuracy *runs; // by time
    size_t count;
    // Of log(1 + bias) and of log(MAPE + 0.1 %), indices into runs: a model may get worse both
    // ways at once, which leaves its bias alone.
    struct changepoints bias, error;
};

struct accuracy_history {
    struct accuracy_series *series;
    size_t count;
    struct accuracy_group *groups; // while collecting
    size_t group_count;
    struct arena arena;
};

// Collects a series' points (which are then no longer needed), then settles once.
void accuracy_history_add(struct accuracy_history *accuracy, const struct series_entry *series,
                          const struct stored_points *stored);

void accuracy_history_settle(struct accuracy_history *accuracy);

void accuracy_history_judge(struct accuracy_history *accuracy);

void accuracy_history_free(struct accuracy_history *accuracy);

// The same from what the store keeps of each run, after adding the runs that it does not know yet.
// The newest `limit` runs only (0: all). Not judged.
int accuracy_history_kept(struct accuracy_history *out, struct store *store, size_t limit,
                          struct error *err);

// To standard output. The table has the newest run and those where the bias moved.
void accuracy_history_print_table(const struct accuracy_history *accuracy);

void accuracy_history_print_csv(const struct accuracy_history *accuracy);

void accuracy_history_print_json(const struct accuracy_history *accuracy);

#endif
