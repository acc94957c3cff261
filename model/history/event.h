// SPDX-License-Identifier: Apache-2.0
//
// An event: one cause of change with the commits it may have begun with and all series that it
// touches. Changes are found series by series (links, change points); people care for causes.
//
// What may have one cause: changes of the code that may have begun with the same commit, on
// whatever device; changes of one device (all of it, its memory, its power) that may have begun
// together; a declared break of one device; a model's new version. A series has one change in an
// event, for a cause acts once. What belongs together is decided from the ranges of commits alone,
// and not from the size or direction: one commit may make this kernel faster and that one slower.

#ifndef PLUMB_EVENT_H
#define PLUMB_EVENT_H

#include "model/base.h"
#include "model/result.h"

// ---- discovery ----
//
// Which of a never-ending stream of tests are discoveries, so that the share of false ones among
// all that was ever called one stays bounded, and nothing that was called one is taken back.

// e-LOND (Xu and Ramdas 2024): the t-th test is a discovery when its e-value reaches
//     1 / (q gamma_t (d + 1)),   gamma_t = 0.474 / ((t + 1) log(t + 1)^2),
// with d discoveries before it. The gamma_t add up to less than 1, and then the false discovery
// rate is at most q after every t, for e-values that depend on each other in any way (series of
// one device share its heat). Later tests change nothing that was decided.
struct discoveries {
    double q; // 0 < q < 1
    uint64_t tests, found;
};

// The next test, with this log e-value; NaN is no evidence.
bool discovery_test(struct discoveries *discoveries, double log_evidence);

// ---- attribution ----
//
// Whose change it is when series changed at a commit: found from traits that the changed series
// have in common, and the others not. (model/gate/verdict.h answers the same for one verdict of a
// gate, from the controls that were measured beside it.)

// So many series must agree before something is called common to them.
enum { CONTROLS_FEWEST = 3 };

enum attribution {
    ATTRIBUTION_NONE,        // the series did not change
    ATTRIBUTION_KERNEL,      // this series, or a few of one kernel
    ATTRIBUTION_MEMORY,      // nearly all memory-bound series of the device, and no others
    ATTRIBUTION_POWER,       // the same of compute-bound ones: clocks, power limit
    ATTRIBUTION_ENVIRONMENT, // nearly all series of the device
    ATTRIBUTION_MODEL,       // nearly all series whose model's version changed there
    ATTRIBUTION_BREAK,       // a declared change of driver, CUDA, cuBLAS or device
    ATTRIBUTIONS
};

const char *attribution_name(enum attribution attribution);

// One series at one commit.
struct attribution_series {
    size_t device; // any numbering
    enum bound bound;
    bool changed;      // a change point's credible set holds the commit
    double size;       // of that change, log ratio; its sign is what counts
    bool code_changed; // its code id differs from the commit before, or is not known
    bool code_known;
    bool model_changed; // the version of the model it is held against does
};

// out[i] says of series[i]. A class or device is blamed when at least four fifths of its series,
// and at least three, changed in one direction; a class only while the rest of its device stayed
// calm. Neither is blamed when the code of every series that changed so is new and known: then the
// commit changed them all, as by a shared header or a compiler's flag. A model is blamed when that
// share of the series held against its new version changed, in whichever direction, though their
// code did not.
void attribution_find(enum attribution *out, const struct attribution_series *series, size_t count);

// ---- events ----

enum event_state {
    EVENT_NEW,       // found; the evidence over the whole history does not suffice yet
    EVENT_CONFIRMED, // it does, and more than what pairs cannot see: few of these are false
    EVENT_ACCEPTED,  // a person wants it so; its level is the new baseline
    EVENT_FIXED,     // the series that it made slower are back, or it brought some back exactly
    EVENT_DISMISSED, // a person says that it is none
    EVENT_WITHDRAWN, // it was reported, and what came later does not bear it out
    EVENT_STATES
};

const char *event_state_name(enum event_state state);

int event_state_parse(enum event_state *out, const char *text); // -1: no such state

bool event_is_open(enum event_state state); // new or confirmed: it stands, and nobody has decided

// One change of one series. Commits are positions in the history, parents before children.
struct event_change {
    size_t series;        // the caller's number
    size_t device;        // any numbering
    size_t first, last;   // it began with one of these commits, both among them
    size_t at;            // most likely with this one
    struct interval size; // log ratio
    double log_evidence;
    bool paired;     // measured side by side, so that it is of the code
    bool told;       // by a plain run, from times alone, and borne out by those since
    bool confirmed;  // nothing more is needed to believe it
    bool back;       // to a code that the series had before: an exact revert
    bool levelled;   // links say how much of it is left
    double left;     // so much; log ratio
    const char *was; // id of the commit that it was told at before, or NULL; borrowed
    bool aside;      // of a branch that the line does not have: only its own later commits undo it
    enum attribution cause;
    const char *what; // "driver 570.86 -> 580.65", or NULL; borrowed
};

// What became of an event, and who says so.
struct event_entry {
    enum event_state state;
    int64_t when_s;
    const char *who; // "plumb" for the tool itself
    const char *why;
};

// Who looks into an event, as a person said; it changes nothing of the event's state.
struct event_taken {
    const char *who; // untrusted text; NULL: nobody does
    const char *why;
    int64_t when_s;
};

struct event_commit {
    char id[OBJECT_ID_TEXT];
    int64_t time_s;
    const char *summary, *author; // untrusted text, "" unknown
};

enum { EVENT_NAME_TEXT = 48 };

// The first half is what event_group() makes of changes; names, commits and entries are given to it
// by whoever knows them (ci/history/events.h), and are empty until then.
struct event {
    enum attribution cause;             // of all of its changes
    const char *what;                   // as its changes say, or NULL
    size_t device;                      // whose event it is; SIZE_MAX: no device's
    const struct event_change *changes; // largest first; one per series
    size_t count;
    size_t first, last;     // in the ranges of all of its changes
    const size_t *culprits; // first..last, most likely first
    size_t culprit_count;   // 1: it is known
    bool confirmed;         // one of its changes is
    // ---- given to it ----
    char name[EVENT_NAME_TEXT]; // by which people call it; the same from one run to the next
    enum event_state state;
    const struct event_commit *commits; // of the culprits, in their order
    const struct event_entry *entries;  // oldest first; the last one's state is the event's
    size_t entry_count;
    struct event_taken taken; // while it is new or confirmed
};

struct event_list {
    struct event *events; // newest first, by `last`; then the one with more series
    size_t count;
};

// Pure, and independent of the order of `changes`. ATTRIBUTION_NONE counts as KERNEL. All of `out`
// lives in the arena.
//
// Changes come narrowest first, so that what is known well forms the events that what is known
// less well joins: each goes to the event whose commits its own range meets, among several to the
// one nearest to its most likely commit, and narrows it; or it begins a new one.
void event_group(struct event_list *out, const struct event_change *changes, size_t count,
                 struct arena *arena);

// Whether a change of the event makes its series' present codes slower, side by side, beyond doubt
// or as a run has said, and nobody has said that this is meant. Needs the event's state.
bool event_is_slowdown(const struct event *event);

// The largest change by size, whichever its direction. Never NULL: an event has one.
const struct event_change *event_largest(const struct event *event);

#endif
