// SPDX-License-Identifier: Apache-2.0
//
// An event: one cause of change, the commits that may have begun it, and all series that it
// touches.
// Changes are found series by series (links, change points), but people care about causes.
//
// Changes that may have one cause are: changes of the code that may have begun with the same
// commit, on any device; changes of one device (all of it, its memory, its power) that may have
// begun together; a declared break of one device; a model's new version. A series has at most one
// change in an event, because a cause acts once. Which changes belong together is decided from the
// ranges of commits and not from size or direction: one commit may make this kernel faster and that
// one slower.

#ifndef PLUMB_EVENT_H
#define PLUMB_EVENT_H

#include "model/base.h"
#include "model/result.h"

// ---- attribution ----
//
// The cause when several series changed at a commit, found from what the changed series have in
// common and the others do not. (model/gate/verdict.h finds the cause of one verdict of a gate,
// from the controls that were measured beside it.)

// The least number of series that must agree before a cause is called common to them.
enum { CONTROLS_FEWEST = 3 };

enum attribution {
    ATTRIBUTION_NONE,        // the series did not change
    ATTRIBUTION_KERNEL,      // this series, or a few of one kernel
    ATTRIBUTION_MEMORY,      // nearly all memory-bound series of the device, and no others
    ATTRIBUTION_POWER,       // the same for compute-bound series: clocks or a power limit
    ATTRIBUTION_ENVIRONMENT, // nearly all series of the device
    ATTRIBUTION_MODEL,       // nearly all series whose model's version changed there
    ATTRIBUTION_BREAK,       // a declared change of driver, CUDA, cuBLAS or device
    ATTRIBUTIONS
};

const char *attribution_name(enum attribution attribution);

// One series at one commit.
struct attribution_series {
    size_t device; // numbers are the caller's choice
    enum bound bound;
    bool changed;      // the credible set of a change point contains the commit
    double size;       // log ratio of that change; only its sign is used
    bool code_changed; // its code id differs from that of the commit before, or is not known
    bool code_known;
    bool model_changed; // the version of the model that it is compared with differs
};

// Finds the cause of each series' change; out[i] belongs to series[i]. A class of series or a
// device is to blame when at least four fifths of its series, and at least three, changed in one
// direction; a class only if the rest of its device did not change. Neither is to blame when every
// one of these series has new code that is known: then the commit changed them all, as by a shared
// header or a compiler's flag. A model is to blame when that share of the series compared with its
// new version changed, in either direction, without a change of their code.
void attribution_find(enum attribution *out, const struct attribution_series *series, size_t count);

// ---- events ----

enum event_state {
    EVENT_NEW,       // found, but the evidence over the whole history is not sufficient yet
    EVENT_CONFIRMED, // the evidence is sufficient, also allowing for errors that pairs cannot show;
                     // few of these are false
    EVENT_ACCEPTED,  // a person accepted it; its level is the new baseline
    EVENT_FIXED,     // the series that it made slower are back, or some were restored exactly
    EVENT_DISMISSED, // a person decided that it is no event
    EVENT_WITHDRAWN, // it was reported, and later data do not support it
    EVENT_STATES
};

const char *event_state_name(enum event_state state);

int event_state_parse(enum event_state *out, const char *text); // -1: no such state

bool event_is_open(enum event_state state); // new or confirmed: it is valid, and nobody has decided
                                            // about it

// One change of one series. A commit is given by its position in the history; parents come before
// children.
struct event_change {
    size_t series;        // the caller's number of the series
    size_t device;        // numbers are the caller's choice
    size_t first, last;   // range of commits of which one began it, both ends included
    size_t at;            // the most likely one of them
    struct interval size; // log ratio
    double log_evidence;
    bool paired;     // measured by pairs, so the code is the cause
    bool told;       // reported by a plain run from times alone, and supported by later times
    bool confirmed;  // no further evidence is needed
    bool back;       // the series went back to a code that it had before: an exact revert
    bool levelled;   // links tell how much of it is left
    double left;     // how much is left, as a log ratio
    const char *was; // id of an earlier commit at which it was reported before, or NULL; borrowed
    bool aside;      // it is on a branch that the line does not have, so only later commits of that
                     // branch undo it
    enum attribution cause;
    const char *what; // "driver 570.86 -> 580.65", or NULL; borrowed
};

// What happened to an event, and who says so.
struct event_entry {
    enum event_state state;
    int64_t when_s;
    const char *who; // "plumb" for the tool itself
    const char *why;
};

// Who looks into an event, as a person entered it. The event's state does not depend on it.
struct event_taken {
    const char *who; // untrusted text; NULL: nobody
    const char *why;
    int64_t when_s;
};

struct event_commit {
    char id[OBJECT_ID_TEXT];
    int64_t time_s;
    const char *summary, *author; // untrusted text, "" unknown
};

enum { EVENT_NAME_TEXT = 48 };

// An event. event_group() makes the first half from changes. The caller, who knows names, commits
// and entries, adds the second half (ci/history/events.h); it is empty until then.
struct event {
    enum attribution cause;             // the cause of all its changes
    const char *what;                   // as in its changes, or NULL
    size_t device;                      // the device that it concerns; SIZE_MAX: no single one
    const struct event_change *changes; // largest first; one per series
    size_t count;
    size_t first, last;     // the range of commits that the ranges of all its changes share
    const size_t *culprits; // first..last, most likely first
    size_t culprit_count;   // 1: the culprit is known
    bool confirmed;         // one of its changes is confirmed
    // ---- added by the caller ----
    char name[EVENT_NAME_TEXT]; // the name that people use; it stays the same from one run to the
                                // next
    enum event_state state;
    const struct event_commit *commits; // of the culprits, in the same order
    const struct event_entry *entries;  // oldest first; the last entry has the event's state
    size_t entry_count;
    struct event_taken taken; // set while the event is new or confirmed
};

struct event_list {
    struct event *events; // newest first, by `last`; among equals the one with more series first
    size_t count;
};

// Groups changes into events. The result does not depend on the order of `changes`.
// ATTRIBUTION_NONE counts as KERNEL. All of `out` lives in the arena.
//
// Changes with narrow ranges of commits are taken first, so that well-known changes form the events
// and the others join them. Each change joins an event whose range meets its own, and narrows it;
// if several do, it joins the one nearest to its most likely commit. If none does, it begins a new
// event.
void event_group(struct event_list *out, const struct event_change *changes, size_t count,
                 struct arena *arena);

// Whether a change of the event makes the present code of its series slower, and nobody has
// accepted that. The change must be measured by pairs and certain, or be reported by a run. Needs
// the event's state.
bool event_is_slowdown(const struct event *event);

// The largest change by size, in either direction. Never NULL, because an event has a change.
const struct event_change *event_largest(const struct event *event);

#endif
