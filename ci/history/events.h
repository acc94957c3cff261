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

// The commits of a store in one order, parents before children, with those between them that were
// never measured as far as a repository knows them. Events are ranges of it.
struct timeline {
    struct commit *commits;
    size_t *begins; // of each stretch: the first commit behind its base that is on its own line;
                    // SIZE_MAX: it was not followed as far as its base
    bool *line; // of each: it is on the line of first parents of a change; others are of branches
    bool *between; // the store does not know it
    size_t count;
    struct id_index places;
};

// Knowledge about commits that is not in the store.
struct timeline_sources {
    const struct repository *repository; // NULL: only what the store knows
    const char *const *paths; // files and folders that a build reads; a commit that changes none of
    size_t path_count;        // them is on no line. None: every commit counts
};

struct events_asked {
    struct timeline_sources sources; // without them, commits that nobody measured are no culprits
    int64_t now_s; // what is found is kept in the store (opened for writing), with this as its
                   // time; 0: nothing is kept, and no clock is needed
};

struct events {
    struct event_list list;       // event_change.series is an index into set->series
    struct timeline timeline;     // what its positions are in
    struct stored_event **stored; // of each event; key 0 when it is not kept
};

// The files that a build reads, as the newest plain run's policy says. In the arena.
int events_sources(struct timeline_sources *out, struct store *store,
                   const struct repository *repository, struct arena *arena, struct error *err);

// `set` has all series of the store, judged by history_load(), and stays where it is as long as the
// events. All of `out` lives in the arena.
int events_load(struct events *out, const struct history_set *set, struct store *store,
                const struct events_asked *asked, struct arena *arena, struct error *err);

// By its name, or by the beginning of its name or of a culprit's id when only one event fits.
const struct event *events_named(const struct events *events, const char *name, struct error *err);

// The newest state of events by commit, in words for people: "1 new, 2 confirmed".
const char *event_sentence(const struct event *event, const struct history_set *set,
                           struct arena *arena);

// ==== links judged a second time ====
//
// Links judged a second time, over the whole history of a store: among thousands of them some are
// alarms by chance (model/history/discovery.h).

struct link_tests {
    struct kept_test *items; // by link; a link that is none of them is as it says
    size_t count;
    uint64_t tests, discovered; // of all
};
// All links of neighbouring codes; in the arena. `keeps`: what is found is kept in the store, and
// only links that came since are gone through. One that belongs before what was gone through, as
// from another machine's store, makes it begin anew.
int link_tests_read(struct link_tests *out, struct store *store, bool keeps, struct arena *arena,
                    struct error *err);
// The test of this link, with the evidence of earlier links of the same two codes. NULL: none is
// kept, for it would say no more than the link and discovered nothing.
const struct kept_test *link_tests_find(const struct link_tests *tests, int64_t link);

#endif
