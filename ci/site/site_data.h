// SPDX-License-Identifier: Apache-2.0
//
// Collects the nightly site's data from the store. One pass goes over all series, and reads, judges
// and drops each; later the site's pages ask again for the series that they show.

#ifndef PLUMB_SITE_DATA_H
#define PLUMB_SITE_DATA_H

#include "ci/history/events.h"
#include "ci/history/history.h"
#include "ci/history/load.h"
#include "ci/settings/policy.h"
#include "reports/site/site.h"

struct site_place { // the place of the series that has this key in the store
    int64_t key;
    size_t index;
};

struct site_data;

struct site_reading { // what one thread reads with; site->context and site->contexts point to such
                      // structs
    struct site_data *data;
    struct store *store;
};

struct site_data {
    struct store *store;
    struct site site; // ready for site_write(); this struct must not move
    struct history_set set;
    struct events events;
    struct accuracy_history accuracy;
    struct metric_history metrics;
    struct site_accuracy *figures; // site.accuracy
    struct site_place *places;     // all series, sorted by key
    struct site_health *health;    // site.health
    size_t points;
    struct site_reading *readings; // the first one reads with `store`
    void **contexts;
    size_t reading_count;
};

// Loads the data. The caller puts addresses (commit_url, site_url) and names into `out->site`.
// `policy` says who looks after a kernel and how slow a device's controls may be; with NULL nobody
// does, and the default holds. `points` is how many of the newest points of each series are read;
// 0: all. `keeps`: judgements are kept in the store (opened for writing), and only new points are
// judged; this needs points 0. With `repository` NULL, commits that were never measured cannot be a
// change's reason.
int site_data_load(struct site_data *out, struct store *store, const char *epochs_path,
                   const struct repository *repository, const struct policy *policy, size_t points,
                   bool keeps, struct error *err);

void site_data_free(struct site_data *data);

// Loads one series for its page (site->load).
int site_detail_load(struct site_detail *out, size_t index, void *context, struct arena *arena,
                     struct error *err);

#endif
