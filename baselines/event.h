// SPDX-License-Identifier: Apache-2.0
//
// Events in the store: what was reported, and what the tool said became of it. Nothing of it is
// ever deleted. A person's word is in the epochs file (epoch.h).
#ifndef PLUMB_STORED_EVENT_H
#define PLUMB_STORED_EVENT_H

#include "baselines/store.h"
#include "model/fields.h"
#include "model/history/event.h"

struct stored_event_change {
    int64_t series;                                   // its key in this file
    char first[OBJECT_ID_TEXT], last[OBJECT_ID_TEXT]; // commits: it began with one of these
    double log_ratio, log_evidence;
};
#define EVENT_CHANGE_FIELDS(F)                                                                     \
    F(first_id, "first", ID, first, "", FIELD_ANY, 13)                                             \
    F(last_id, "last", ID, last, "", FIELD_ANY, 13)                                                \
    F(log_ratio, "log_ratio", REAL, log_ratio, "", RANGE(-50, 50), 13)                             \
    F(log_evidence, "log_evidence", REAL, log_evidence, "", FIELD_ANY, 13)
// An entry is struct event_entry.
#define EVENT_ENTRY_FIELDS(F)                                                                      \
    F(state, "state", WORD, state, "", FIELD_ANY, 13, event_state_word)                            \
    F(when_s, "when_s", TIME, when_s, "s", FIELD_TIMES, 13)                                        \
    F(who, "who", TEXT, who, "", FIELD_ANY, 13)                                                    \
    F(why, "why", TEXT, why, "", FIELD_ANY, 13)

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
#define EVENT_FIELDS(F)                                                                            \
    F(name, "name", ID, name, "", FIELD_ANY, 13)                                                   \
    F(cause, "cause", WORD, cause, "", FIELD_ANY, 13, attribution_word)                            \
    F(what, "what", TEXT, what, "", FIELD_ANY, 13)                                                 \
    F(culprit, "culprit", ID, culprit, "", FIELD_ANY, 13)
// NULL: there is none so.
const char *attribution_word(int cause);
extern const struct stored_fields event_fields, event_change_fields, event_entry_fields;

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
