// SPDX-License-Identifier: Apache-2.0
//
// The one way from a store to the history of its series: which series, each read, judged
// (history_kept_judge()) and dropped again, then all of them looked at together. `history`, `site`
// and the report of a run say the same of a series because they all ask here. Behind it stand the
// other histories of a store: of models' accuracy, of metrics, and of devices.
#ifndef PLUMB_HISTORY_LOAD_H
#define PLUMB_HISTORY_LOAD_H

#include "baselines/judgement.h"
#include "baselines/store.h"
#include "ci/history/history.h"
#include "model/base.h"
#include "model/buffer.h"
#include "model/history/changepoint.h"
#include "model/history/device.h"
#include "reports/report.h"
#include "runner/git/repository.h"

struct history_wanted {
    const char *kernel, *problem, *device; // globs; NULL: all
    bool comparisons;                      // also the heads of gates, bisections and studies
    size_t points;                         // newest ones of each series; 0: all
    const char *toolchain; // the times by this one, without links; NULL: the default's history
    // What is judged is kept in the store (opened for writing), and only what is new is judged.
    // Needs all points of the default toolchain and no comparisons. A store that takes nothing
    // (full, or busy for long) is complained of on standard error and does not stop it.
    bool keeps;
    bool levels; // the level of every code too
    // The repository on whose line of first parents accepted changes are placed
    // (ci/settings/epochs.h). NULL: they count from the commits that they name.
    const struct repository *repository;
};
// Does the caller want this series?
bool history_selects(const struct history_wanted *wanted, const struct series_entry *series);

// Every series that is wanted, with its changes; points and values are gone (NULL).
struct history_set {
    struct series_history *series;
    struct judgement *judgements; // one per series; without `keeps` NULL
    struct linked_levels *levels; // one per series, if they are wanted; else NULL
    struct commit_places places;  // all commits, if there are links or a repository
    struct point_places points;   // of times that count elsewhere than where they were measured
    size_t count, known;          // known: in the store
    struct epoch_list epochs;
    struct control_shifts *common; // one per device met
    size_t device_count;
    struct arena arena;
};

int history_load(struct history_set *out, struct store *store, const struct history_wanted *wanted,
                 const char *epochs_path, struct error *err); // epochs_path NULL: none

void history_free(struct history_set *set);

// The level of every code of one series.
int history_levels(struct linked_levels *out, const struct history_set *set, size_t index,
                   struct store *store, struct arena *arena, struct error *err);

// The confirmed changes of a series that are kept, where they lie among the points shown: what
// `history` and the site said last. None when nothing is kept. In the arena.
int history_marks(struct report_change **out, size_t *count, struct store *store,
                  const struct series *series, const struct history *shown, struct arena *arena,
                  struct error *err);

// ==== the same work on several threads ====
//
// Each thread takes the next job from a list that its contexts share.

enum { TOGETHER_MOST = 8 }; // threads

// How many threads so many jobs are worth: as many as there are processors for this program, each
// with `least` jobs or more; 1 to TOGETHER_MOST.
size_t together_threads(size_t jobs, size_t least);
// Calls work() once with each context, and returns when all calls have come back. The caller's
// thread works on the first context; where the system gives no further thread, it works on the
// others one after the other.
void together(void (*work)(void *context), void *const *contexts, size_t count);

// ==== the history of models' accuracy ====
//
// How good a model was, run by run: per model, kernel, type and device, over all problems of
// one run. Change points of the bias catch a regression of the model as one of a kernel is caught.

struct accuracy_series {
    const char *model; // name and version, of the newest run
    const char *kernel;
    enum dtype dtype;
    const char *device_uuid;
    const struct kept_accuracy *runs; // by time
    size_t count;
    // Of log(1 + bias) and of log(MAPE + 0.1 %), indices into runs: a model may get worse both
    // ways at once, which leaves its bias alone.
    struct changepoints bias, error;
};

struct accuracy_history {
    struct accuracy_series *series; // by device, kernel and type
    size_t count;
    struct arena arena;
};

// The rows of one run, by device, kernel and type; `rows` has room for as many as there are heads,
// which are put in order. Texts are the heads'.
size_t accuracy_rows(struct kept_accuracy *rows, struct accuracy_source *heads, size_t count);

// The rows, by device, kernel and type, then time, as series; not judged. `out` is empty before.
void accuracy_history_make(struct accuracy_history *out, const struct kept_accuracy *rows,
                           size_t count);

void accuracy_history_judge(struct accuracy_history *accuracy);

void accuracy_history_free(struct accuracy_history *accuracy);

// Loads the history of the newest `limit` runs (0: of all), not judged. The store keeps the rows of
// each run that was loaded once; those of a newer run are computed from its results, and then kept
// where `wanted` says so. Where `wanted` names some series only, all rows are computed from these.
int accuracy_history_load(struct accuracy_history *out, struct store *store,
                          const struct history_wanted *wanted, size_t limit, struct error *err);

// To standard output. The table has the newest run and those where the bias moved.
void accuracy_history_print_table(const struct accuracy_history *accuracy);

void accuracy_history_print_csv(const struct accuracy_history *accuracy);

void accuracy_history_print_json(const struct accuracy_history *accuracy);

// ==== the history of metrics ====
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

// ==== what happened to devices ====
//
// What happened to devices: the changes that a driver made to many series at once, and devices
// that are sick.

// ==== what a driver changed ====
//
// The drivers that a store's devices had, one after the other, and how much each new one moved the
// same code (model/history/device.h).

struct driver_step {
    const char *device_uuid, *device_name;
    const char *from, *to;
    struct driver_shift shift;
    bool levelled; // no code was timed under both: what links say of the codes was taken off
};
struct driver_steps {
    struct driver_step *items; // device by device, in the order of measuring
    size_t count;
};
// Of the series that `wanted` names, by its globs, or of the controls among them, which need no
// links. A driver that comes back counts anew. In the arena.
int drivers_find(struct driver_steps *out, struct store *store, const struct history_wanted *wanted,
                 bool controls, struct arena *arena, struct error *err);

// ==== devices that are sick ====
//
// Sick devices: found by their controls in what is stored, taken out, and left alone until a person
// clears them.

struct sick_finding {
    const char *uuid, *name;
    bool gpu;
    bool known; // its controls suffice for a judgement
    bool sick;
    bool out;        // it was taken out before; then it is not judged again
    const char *why; // one sentence without a point; of what is not known, what is missing
};
// Judges each device that was measured by its newest runs; what was imported is not. `margin`: how
// much slower its controls may be, relative, 0: not judged. In the arena.
int sick_find(struct sick_finding **out, size_t *count, struct store *store, double margin,
              struct arena *arena, struct error *err);

#endif
