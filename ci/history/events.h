// SPDX-License-Identifier: Apache-2.0
//
// The events of a store: what its histories found, gathered by cause (model/history/event.h), with
// names, commits and states.
//
// What counts as a change: a link of neighbouring codes that is slower or faster; a change point of
// a series without links, where its code may have changed; what a plain run told from times alone,
// until there are enough of them for a change point; a shift of a device's controls, which is one
// of all of its series. Any other change point is of the machine, whatever it looks like, and
// counts when most series of the device share it.
//
// An event that was reported is kept in the store and keeps its name. When it is found no more it
// is withdrawn, with the day and the reason. People accept and dismiss events in the epochs file,
// and an accepted change of baseline accepts the events that led to it.
#ifndef PLUMB_CI_EVENTS_H
#define PLUMB_CI_EVENTS_H

#include "baselines/judgement.h"
#include "baselines/store.h"
#include "ci/history/load.h"
#include "runner/git/repository.h"

// All commits of a store in one order, parents before children. It includes the commits between
// them that were never measured, as far as a repository knows them. An event is a range of this
// order.
struct timeline {
    struct commit *commits;
    size_t *begins; // for each stretch: the first commit after its base that is on its own line;
                    // SIZE_MAX: the stretch was not followed back to its base
    bool *line;     // for each commit: it is on the first-parent line of a change; others are on
                    // branches
    bool *between;  // for each commit: the store does not know it
    size_t count;
    struct id_index places;
};

// Knowledge about commits that the store does not have.
struct timeline_sources {
    const struct repository *repository; // NULL: only the commits of the store are known
    const char *const *paths; // files and folders that a build reads; a commit that changes none of
    size_t path_count;        // them is left out of every line. None: every commit counts
};

struct events_asked {
    struct timeline_sources sources; // without them, a commit that nobody measured is never the
                                     // culprit
    int64_t now_s; // the time under which the findings are kept in the store (opened for writing);
                   // 0: nothing is kept, and no clock is needed
};

struct events {
    struct event_list list;       // event_change.series is an index into set->series
    struct timeline timeline;     // the order that the events' positions refer to
    struct stored_event **stored; // by event; key 0 when the event is not kept
};

// Finds the files that a build reads, by the policy of the newest plain run. In the arena.
int events_sources(struct timeline_sources *out, struct store *store,
                   const struct repository *repository, struct arena *arena, struct error *err);

// Gathers the events. `set` has all series of the store, judged by history_load(), and must outlive
// `out`. All of `out` lives in the arena.
int events_load(struct events *out, const struct history_set *set, struct store *store,
                const struct events_asked *asked, struct arena *arena, struct error *err);

// Finds an event by its name, or by the beginning of its name or of a culprit's id if only one
// event fits.
const struct event *events_named(const struct events *events, const char *name, struct error *err);

// The newest state of events by commit, in words for people: "1 new, 2 confirmed".
const char *event_sentence(const struct event *event, const struct history_set *set,
                           struct arena *arena);

#endif
