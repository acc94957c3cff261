// SPDX-License-Identifier: Apache-2.0
//
// The nightly site's data out of the store: one pass over all series, each read, judged and
// dropped, then the site's pages ask again for those they show.
#ifndef PLUMB_SITE_DATA_H
#define PLUMB_SITE_DATA_H

#include "ci/history_store.h"
#include "ci/nights.h"
#include "reports/site.h"

struct site_data {
    struct store *store;
    struct site site; // ready for site_write() as long as this struct stays where it is
    struct history_set set;
    struct nights nights;
    size_t points;
};
// `out->site` gets its addresses (commit_url, site_url) and names from the caller.
// points: the newest ones of each series; 0: all.
int site_data_load(struct site_data *out, struct store *store, const char *epochs_path,
                   size_t points, struct error *err);
void site_data_free(struct site_data *data);

#endif
