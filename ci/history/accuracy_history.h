// SPDX-License-Identifier: Apache-2.0
//
// How good a model was, run by run: per model, kernel, type and device, over all problems of
// one run. Change points of the bias catch a regression of the model as one of a kernel is caught.

#ifndef PLUMB_ACCURACY_HISTORY_H
#define PLUMB_ACCURACY_HISTORY_H

#include "baselines/judgement.h"
#include "ci/history/load.h"
#include "model/history/changepoint.h"

struct accuracy_series {
    const char *model; // name and version, of the newest run
    const char *kernel;
    enum dtype dtype;
    const char *device_uuid;
    const struct kept_accuracy *runs; // by time
    size_t count;
    // Of log(1 + bias) and of log(MAPE + 0.1 %), indices into runs: a model may get worse both
    // ways at once, which leaves its bias alone.
    struct changepoints bias, error;
};

struct accuracy_history {
    struct accuracy_series *series; // by device, kernel and type
    size_t count;
    struct arena arena;
};

// The rows of one run, by device, kernel and type; `rows` has room for as many as there are heads,
// which are put in order. Texts are the heads'.
size_t accuracy_rows(struct kept_accuracy *rows, struct accuracy_source *heads, size_t count);

// The rows, by device, kernel and type, then time, as series; not judged. `out` is empty before.
void accuracy_history_make(struct accuracy_history *out, const struct kept_accuracy *rows,
                           size_t count);

void accuracy_history_judge(struct accuracy_history *accuracy);

void accuracy_history_free(struct accuracy_history *accuracy);

// Loads the history of the newest `limit` runs (0: of all), not judged. The store keeps the rows of
// each run that was loaded once; those of a newer run are computed from its results, and then kept
// where `wanted` says so. Where `wanted` names some series only, all rows are computed from these.
int accuracy_history_load(struct accuracy_history *out, struct store *store,
                          const struct history_wanted *wanted, size_t limit, struct error *err);

// To standard output. The table has the newest run and those where the bias moved.
void accuracy_history_print_table(const struct accuracy_history *accuracy);

void accuracy_history_print_csv(const struct accuracy_history *accuracy);

void accuracy_history_print_json(const struct accuracy_history *accuracy);

#endif
