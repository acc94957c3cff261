// SPDX-License-Identifier: Apache-2.0
//
// One pass over the series of a store, by as many threads as the machine has processors: a series'
// judgement follows from its own points and links, and from its device's controls.
#ifndef PLUMB_HISTORY_LOADING_H
#define PLUMB_HISTORY_LOADING_H

#include "ci/history/load.h"

struct loading {
    struct store *store;
    struct history_set *set; // with room for all of `entries`
    const struct history_wanted *wanted;
    const struct series_entry *entries; // set->known of them
    int64_t newest_key;                 // no measurement beyond it is looked at
    bool refused;                       // the store takes nothing
};
// Fills in set->series, set->judgements and set->count, each series at its entry's place.
int loading_series(struct loading *all, struct error *err);

// Does the caller want this series?
bool history_selects(const struct history_wanted *wanted, const struct series_entry *series);

#endif
