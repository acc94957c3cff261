// SPDX-License-Identifier: Apache-2.0
//
// Epochs: changes of baseline that a person accepted. They are kept in the repository in a small
// text file (baselines/epochs.txt here), so that accepting a regression is a reviewed change.
//
// The file is UTF-8 lines. '#' starts a comment line. An epoch is a block of `key = value` lines
// that starts with its series and ends at an empty line:
//
//     series = tiled 4096x4096x4096:bf16-bf16:tn *
//     commit = 1f0c...
//     level  = 0.0312
//     reason = wider tiles trade this shape for the large ones
//     who    = A. Author <author@example.org>
//     when   = 2026-11-21
//
// The series is kernel, problem and device UUID, in which '*' and '?' match; the commit is the one
// from which on it holds (ci/settings/epochs.h says where it is off the line); the level is
// the accepted log ratio, new / old, or the word "removed": the kernel may go. When is a day, UTC.
// A gate accepts what an epoch that came with the change covers (ci/gate/linking.h).
//
// What a person decided of an event (model/history/event.h) is a block that starts with its name:
//
//     event  = 1f0c62a9b3
//     state  = dismissed
//     reason = the machine's fan had failed
//     who    = A. Author <author@example.org>
//     when   = 2026-11-21
//
// The state is accepted, fixed or dismissed; of several decisions of one event the last counts. The
// word "taken" in its place decides nothing: who looks into the event from that day on.
//
// Every key is needed, once. Parsing and writing are pure: text in, structs out; no I/O.
#ifndef PLUMB_EPOCH_H
#define PLUMB_EPOCH_H

#include "model/history/event.h"

enum { EPOCH_SERIES_TEXT = 320 };

struct epoch {
    const char *series; // "KERNEL PROBLEM DEVICE", each part a pattern
    char commit[OBJECT_ID_TEXT];
    double level; // accepted log(new / old); 0 when removed
    bool removed; // what is accepted is that the kernel goes
    const char *reason;
    const char *who;
    int64_t when_s; // the day's midnight in UTC; a day lasts
#define EPOCH_DAY_S 86400
};

#define EPOCH_FIELDS(F)                                                                            \
    F(series, "series", TEXT, series, "", FIELD_ANY, 1)                                            \
    F(commit_id, "commit", ID, commit, "", FIELD_ANY, 1)                                           \
    F(level, "level", REAL, level, "", FIELD_ANY, 1)                                               \
    F(removed, "removed", SET, removed, "", FIELD_ANY, 11)                                         \
    F(reason, "reason", TEXT, reason, "", FIELD_ANY, 1)                                            \
    F(who, "who", TEXT, who, "", FIELD_ANY, 1)                                                     \
    F(when_s, "when_s", TIME, when_s, "s", FIELD_TIMES, 1)

struct epoch_decision {
    const char *event;      // the event's name
    bool taken;             // this person looks into the event and decides nothing:
    enum event_state state; // EVENT_NEW
    const char *reason;
    const char *who;
    int64_t when_s;
};

struct epoch_list {
    struct epoch *epochs; // in file order
    size_t count;
    struct epoch_decision *decisions; // in file order
    size_t decision_count;
};

// Parses the text of an epochs file. `name` is the file's name, which errors show as name:line.
// Strings and the array live in the arena.
int epoch_parse(struct epoch_list *out, const char *text, size_t length, const char *name,
                struct arena *arena, struct error *err);

// Writes one epoch as a block that epoch_parse() reads back as the same epoch. The text is in the
// arena. Fails if a field cannot be written on one line.
int epoch_format(char **out, const struct epoch *epoch, struct arena *arena, struct error *err);

// Does the same as epoch_format() for a decision.
int epoch_decision_format(char **out, const struct epoch_decision *decision, struct arena *arena,
                          struct error *err);

// Does the pattern cover this series?
bool epoch_matches(const struct epoch *epoch, const char *kernel, const struct problem *problem,
                   const char *device_uuid);
// Does what epoch_matches() does for something that is no series. Such a thing has a text where a
// series has its problem: "mix:NAME".
bool epoch_matches_text(const struct epoch *epoch, const char *kernel, const char *problem,
                        const char *device_uuid);

// Does the list hold this very epoch: series, commit and level?
bool epoch_known(const struct epoch_list *list, const struct epoch *epoch);

// Who looks into the event of this name. Where several took it, the last one counts.
struct event_taken epoch_taken(const struct epoch_list *list, const char *event);

// The last epoch with a level in the list that covers the series; NULL if none.
const struct epoch *epoch_find(const struct epoch_list *list, const char *kernel,
                               const struct problem *problem, const char *device_uuid);

#endif
