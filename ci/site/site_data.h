// SPDX-License-Identifier: Apache-2.0
//
// The nightly site's data out of the store: one pass over all series, each read, judged and
// dropped, then the site's pages ask again for those they show.

#ifndef PLUMB_SITE_DATA_H
#define PLUMB_SITE_DATA_H

#include "ci/history/events.h"
#include "ci/history/history.h"
#include "ci/history/load.h"
#include "ci/settings/policy.h"
#include "reports/site/site.h"

struct site_place { // of the series with this key in the store
    int64_t key;
    size_t index;
};

struct site_data;

struct site_reading { // what one thread reads with: site->context and site->contexts
    struct site_data *data;
    struct store *store;
};

struct site_data {
    struct store *store;
    struct site site; // ready for site_write() as long as this struct stays where it is
    struct history_set set;
    struct events events;
    struct accuracy_history accuracy;
    struct metric_history metrics;
    struct site_accuracy *figures; // site.accuracy
    struct site_place *places;     // all series by key
    struct site_health *health;    // site.health
    size_t points;
    struct site_reading *readings; // the first with `store`
    void **contexts;
    size_t reading_count;
};

// `out->site` gets its addresses (commit_url, site_url) and names from the caller.
// `policy` says who looks after a kernel, and how slow a device's controls may be; NULL: nobody,
// and as where a policy does not say it. points: the newest ones of each series; 0: all. `keeps`:
// what is judged is kept in the store (opened for writing), and only what is new is judged; needs
// points 0. `repository` NULL: commits that were never measured are no reasons.
int site_data_load(struct site_data *out, struct store *store, const char *epochs_path,
                   const struct repository *repository, const struct policy *policy, size_t points,
                   bool keeps, struct error *err);

void site_data_free(struct site_data *data);

// One series for its page (site->load).
int site_detail_load(struct site_detail *out, size_t index, void *context, struct arena *arena,
                     struct error *err);

#endif
