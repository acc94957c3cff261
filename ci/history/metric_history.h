// SPDX-License-Identifier: Apache-2.0
//
// The history of a policy's metrics (ci/settings/metric.h), as the store has them: along HEAD's
// line of first parents, where it left what it was by more than the margin. What does not scatter
// needs no statistics: each value is held against the one that was told last, so that a creep is
// told when it has added up. What scatters (build seconds) has changed when two commits in a row
// are beyond the margin from the median of those before.
//
// All that changed at one commit is one event, whose name ends in "-metrics". Nothing of it is
// kept: it follows from the values, the line and the file of epochs, where people accept and
// dismiss it.
#ifndef PLUMB_METRIC_HISTORY_H
#define PLUMB_METRIC_HISTORY_H

#include "baselines/store.h"
#include "model/buffer.h"
#include "runner/git/repository.h"

struct metric_point {
    double value;
    size_t at; // place of its commit in the line
};

struct metric_change {
    size_t series, at; // place in the line
    size_t commits;    // it began with one of so many, the last of which is `at`
    double before, after;
    enum verdict_kind kind; // slower: worse
    enum event_state state;
    const char *why; // of a person, or NULL
};

struct metric_series {
    const struct metric_value *of; // its newest value: name, subject, device, unit, margin
    struct metric_point *points;   // oldest first
    size_t count, changes;
};

struct metric_event {
    char name[EVENT_NAME_TEXT];
    size_t first, count; // of its changes
    enum event_state state;
    struct event_taken taken; // while it is confirmed
};

struct metric_history {
    struct commit *line; // oldest first
    size_t line_count;
    struct metric_series *series;
    size_t count;
    struct metric_change *changes; // newest first, those of one commit together
    size_t change_count;
    struct metric_event *events; // newest first
    size_t event_count;
};

// `repository` NULL: in the order of the store's commits. All of it lives in the arena.
int metric_history_load(struct metric_history *out, struct store *store,
                        const struct repository *repository, const struct epoch_list *epochs,
                        struct arena *arena, struct error *err);
// The event with this name, or the only one whose name begins so; else NULL.
const struct metric_event *metric_history_event(const struct metric_history *history,
                                                const char *name);
// "registers of gemm worse: 64 -> 80 (+25.00 %)", in the arena.
const char *metric_change_text(const struct metric_history *history,
                               const struct metric_change *change, struct arena *arena);
// The same of an event: its first change for the worse, else the first, "and 3 more".
const char *metric_event_sentence(const struct metric_history *history,
                                  const struct metric_event *event, struct arena *arena);
// Something is worse by it, and nobody has decided.
bool metric_event_is_open(const struct metric_history *history, const struct metric_event *event);

#endif
