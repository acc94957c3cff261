// SPDX-License-Identifier: Apache-2.0
//
// What the writers of a store's contents share, for the room's own use.
#ifndef PLUMB_EXPORT_H
#define PLUMB_EXPORT_H

#include "baselines/link.h"
#include "baselines/pack.h"
#include "baselines/statement.h"
#include "model/json.h"

// The fields of a sample as they stand in exported files, with the range a reader may accept.
#define SAMPLE_COLUMNS(X)                                                                          \
    X(time_ns, 0, SAMPLE_TIME_NS)                                                                  \
    X(clock_hz, 0, SAMPLE_CLOCK_HZ)                                                                \
    SAMPLE_INTEGERS(X)

// Calls `put` for each run the filter wants, oldest first.
typedef void export_run(FILE *file, const struct export_filter *filter, const struct run *run,
                        const char *uid);
int export_runs(struct store *store, const struct export_filter *filter, FILE *file,
                export_run *put, struct error *err);
struct link_owner { // whose link it is
    const char *kernel, *problem;
    struct device device;
};
// Calls `put` for each link the filter wants, series by series.
typedef void export_link(FILE *file, const struct link_owner *owner, const struct link *link);
int export_each_link(struct store *store, const struct export_filter *filter, FILE *file,
                     export_link *put, struct error *err);

#endif
