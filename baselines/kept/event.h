// SPDX-License-Identifier: Apache-2.0
//
// Events in the store: what was reported, and what the tool said became of it. Nothing of it is
// ever deleted. A person's word is in the epochs file (epoch.h).
#ifndef PLUMB_KEPT_EVENT_H
#define PLUMB_KEPT_EVENT_H

#include "baselines/store.h"
#include "model/history/event.h"

struct stored_event_change {
    int64_t series;                                   // its key in this file
    char first[OBJECT_ID_TEXT], last[OBJECT_ID_TEXT]; // commits: it began with one of these
    double log_ratio, log_evidence;
};
struct stored_event {
    int64_t key; // of this file; 0: not stored yet
    char name[EVENT_NAME_TEXT];
    enum attribution cause;
    const char *what;             // "" if none
    char culprit[OBJECT_ID_TEXT]; // that a search ended with; "" if none
    struct stored_event_change *changes;
    size_t change_count;
    struct event_entry *entries; // oldest first
    size_t entry_count;
};

// All, in the order of their first report; in the arena.
int store_load_events(struct stored_event **out, size_t *count, struct store *store,
                      struct arena *arena, struct error *err);
// Adds it (and sets its key), or replaces the changes and the culprit of one that is there. Entries
// are left as they are.
int store_save_event(struct store *store, struct stored_event *event, struct error *err);
// States new, confirmed, fixed and withdrawn. The same entry is added once.
int store_add_event_entry(struct store *store, int64_t event, const struct event_entry *entry,
                          struct error *err);

// Every commit that is known, parents before children, in the arena.
int store_commits(struct commit **out, size_t *count, struct store *store, struct arena *arena,
                  struct error *err);

#endif
