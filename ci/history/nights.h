// SPDX-License-Identifier: Apache-2.0
//
// How good a model was, night by night: per model, kernel, type and device, over all problems of
// one run. Change points of the bias catch a regression of the model as one of a kernel is caught.
#ifndef PLUMB_NIGHTS_H
#define PLUMB_NIGHTS_H

#include "ci/history/past.h"

struct night {
    int64_t run_id;
    int64_t time_s;
    char commit[OBJECT_ID_TEXT];
    size_t count;
    double mape, bias, within; // relative; bias: mean of actual / predicted - 1; within 10 %
    double tau;                // rank correlation of predicted and actual; NaN below 2
};
struct night_series {
    const char *model; // name and version, of the newest night
    const char *kernel;
    enum dtype dtype;
    const char *device_uuid;
    struct night *nights; // by time
    size_t count;
    // Of log(1 + bias) and of log(MAPE + 0.1 %), indices into nights: a model may get worse both
    // ways at once, which leaves its bias alone.
    struct changepoints bias, error;
};
struct nights {
    struct night_series *series;
    size_t count;
    struct night_group *groups; // while collecting
    size_t group_count;
    struct arena arena;
};

// Collects a series' points (which are then no longer needed), then settles once.
void nights_add(struct nights *nights, const struct series_entry *series, const struct past *past);
void nights_settle(struct nights *nights);
// Its two halves: the nights of each series; the changes of their bias.
void nights_collect(struct nights *nights);
void nights_judge(struct nights *nights);
void nights_free(struct nights *nights);

// The same from what the store keeps of each run, after adding the runs that it does not know yet.
// The newest `limit` runs only (0: all).
int nights_kept(struct nights *out, struct store *store, size_t limit, struct error *err);

// To standard output. The table has the newest night and those where the bias moved.
void nights_print_table(const struct nights *nights);
void nights_print_csv(const struct nights *nights);
void nights_print_json(const struct nights *nights);

#endif
