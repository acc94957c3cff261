// SPDX-License-Identifier: Apache-2.0
//
// What the histories of a store found, as changes that can be grouped into events.
#ifndef PLUMB_EVENTS_CHANGES_H
#define PLUMB_EVENTS_CHANGES_H

#include "ci/history/load.h"
#include "ci/history/timeline.h"

// A change whose commits are known by their ids; positions follow from a timeline.
struct found_change {
    struct event_change change;
    struct timeline_stretch stretch;
    const char *at; // commit id
    int64_t link;   // key; 0: it is of absolute times
};
struct found_changes {
    struct found_change *items;
    size_t count;
};
// In the arena; texts are the set's.
int events_find(struct found_changes *out, const struct history_set *set, struct store *store,
                struct arena *arena, struct error *err);

#endif
