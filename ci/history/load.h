// SPDX-License-Identifier: Apache-2.0
//
// The one way from a store to the history of its series. It selects the series; reads, judges
// (history_kept_judge()) and drops each; then looks at all of them together. `history`, `site` and
// a run's report agree about a series because all of them use it. Then come the other histories of
// a store: of models' accuracy, of metrics, and of devices.
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

enum levels_wanted {
    LEVELS_NONE,
    LEVELS_DRAWN, // of series with new links, what a chart shows; history_drawn_levels() has others
    LEVELS_ALL,   // of every code
};

struct history_wanted {
    const char *kernel, *problem, *device; // glob patterns; NULL: all
    bool comparisons;                      // also the heads of gates, bisections and studies
    size_t points;                         // how many of the newest points of each series; 0: all
    const char *toolchain; // only times by this toolchain, and no links; NULL: the history by the
                           // default toolchain
    // The judgements are kept in the store (opened for writing), so that only new points have to be
    // judged. Needs all points of the default toolchain and no comparisons. If the store cannot be
    // written (it is full, or busy for long), a message goes to standard error and the work goes
    // on.
    bool keeps;
    enum levels_wanted levels;
    // Accepted changes are placed on the line of first parents of this repository
    // (ci/settings/epochs.h). NULL: they count from the commits that they name.
    const struct repository *repository;
};
// Whether the caller wants this series.
bool history_selects(const struct history_wanted *wanted, const struct series_entry *series);

// Every wanted series with its changes. Its points and values have been dropped (NULL).
struct history_set {
    struct series_history *series;
    struct judgement *judgements; // one per series; NULL without `keeps`
    struct linked_levels *levels; // one per series; NULL if they are not wanted
    struct commit_places places;  // all commits, if there are links or a repository
    struct point_places points;   // for times that count at another commit than the one where they
                                  // were measured
    size_t count, known;          // known: number of series in the store
    struct epoch_list epochs;
    struct control_shifts *common; // one per device
    size_t device_count;
    struct arena arena;
};

int history_load(struct history_set *out, struct store *store, const struct history_wanted *wanted,
                 const char *epochs_path, struct error *err); // epochs_path NULL: none

void history_free(struct history_set *set);

// Computes the levels of one series as a chart shows them: not more than it shows of points, with
// the extremes of each stretch, both sides of a change, the places where levels get another mark,
// and the newest. Marks are numbered as they are among all levels.
int history_drawn_levels(struct linked_levels *out, const struct history_set *set, size_t index,
                         struct store *store, struct arena *arena, struct error *err);

// Reads the confirmed changes of a series that are kept, as far as they lie among the points shown.
// They are what `history` and the site last reported. None when nothing is kept. In the arena.
int history_marks(struct report_change **out, size_t *count, struct store *store,
                  const struct series *series, const struct history *shown, struct arena *arena,
                  struct error *err);

// ==== the same work on several threads ====
//
// Each thread takes the next job from a list that its contexts share.

enum { TOGETHER_MOST = 8 }; // number of threads

// How many threads are worth starting for so many jobs: as many as this program has processors, but
// each must have at least `least` jobs; 1 to TOGETHER_MOST.
size_t together_threads(size_t jobs, size_t least);
// Calls work() once with each context, and returns when all calls have come back. The caller's
// thread works on the first context; where the system gives no further thread, it works on the
// others one after the other.
void together(void (*work)(void *context), void *const *contexts, size_t count);

// ==== the history of models' accuracy ====
//
// How good a model was, run by run: for each model, kernel, type and device, over all problems of
// one run. Change points of the bias show when a model got worse, in the same way as they show that
// a kernel did.

struct accuracy_series {
    const char *model; // name and version in the newest run
    const char *kernel;
    enum dtype dtype;
    const char *device_uuid;
    const struct kept_accuracy *runs; // sorted by time
    size_t count;
    // Change points of log(1 + bias) and of log(MAPE + 0.1 %), as indices into runs. Both are
    // needed, because a model whose errors grow in both directions keeps its bias.
    struct changepoints bias, error;
};

struct accuracy_history {
    struct accuracy_series *series; // sorted by device, kernel and type
    size_t count;
    struct arena arena;
};

// Makes the rows of one run, sorted by device, kernel and type. `rows` has room for one per head;
// the heads are sorted. Texts are those of the heads.
size_t accuracy_rows(struct kept_accuracy *rows, struct accuracy_source *heads, size_t count);

// Makes series of the rows, which are sorted by device, kernel and type, then time. They are not
// judged. `out` is empty before.
void accuracy_history_make(struct accuracy_history *out, const struct kept_accuracy *rows,
                           size_t count);

void accuracy_history_judge(struct accuracy_history *accuracy);

void accuracy_history_free(struct accuracy_history *accuracy);

// Loads the history of the newest `limit` runs (0: all), without judging it. The store keeps the
// rows of each run that was loaded once. The rows of a newer run are computed from its results, and
// kept if `wanted` says so. If `wanted` selects some series, all rows are computed from those.
int accuracy_history_load(struct accuracy_history *out, struct store *store,
                          const struct history_wanted *wanted, size_t limit, struct error *err);

// ==== the history of metrics ====
//
// The history of a policy's metrics (ci/settings/metric.h) along HEAD's line of first parents:
// where a metric moved by more than its margin. A metric that does not scatter needs no statistics:
// each value is compared with the last value that was reported, so that a creep is reported once it
// has added up. A metric that scatters (build seconds) has changed when two commits in a row lie
// beyond the margin from the median of those before.
//
// All changes at one commit form one event, whose name ends in "-metrics". Such events are
// not kept: they follow from the values, the line and the epochs file, where people accept
// and dismiss them.

struct metric_point {
    double value;
    size_t at; // the commit's place in the line
};

struct metric_change {
    size_t series, at; // at: the commit's place in the line
    size_t commits;    // the number of commits of which one began it; the last of them is `at`
    double before, after;
    enum verdict_kind kind; // VERDICT_SLOWER: worse
    enum event_state state;
    const char *why; // a person's reason, or NULL
};

struct metric_series {
    const struct metric_value *of; // the metric's newest value, with name, subject, device, unit
                                   // and margin
    struct metric_point *points;   // oldest first
    size_t count, changes;
};

struct metric_event {
    char name[EVENT_NAME_TEXT];
    size_t first, count; // its changes: the first one, and their number
    enum event_state state;
    struct event_taken taken; // set while the event is confirmed
};

struct metric_history {
    struct commit *line; // oldest first
    size_t line_count;
    struct metric_series *series;
    size_t count;
    struct metric_change *changes; // newest first; those of one commit stand together
    size_t change_count;
    struct metric_event *events; // newest first
    size_t event_count;
};

// Loads the history of all metrics into the arena. With `repository` NULL the order is that of the
// store's commits.
int metric_history_load(struct metric_history *out, struct store *store,
                        const struct repository *repository, const struct epoch_list *epochs,
                        struct arena *arena, struct error *err);
// The event with this name, or the only one whose name begins like this; NULL if there is none.
const struct metric_event *metric_history_event(const struct metric_history *history,
                                                const char *name);
// The change as a text, such as "registers of gemm worse: 64 -> 80 (+25.00 %)"; in the arena.
const char *metric_change_text(const struct metric_history *history,
                               const struct metric_change *change, struct arena *arena);
// The text of an event: that of its first change for the worse (or else of its first change), and
// "and 3 more".
const char *metric_event_sentence(const struct metric_history *history,
                                  const struct metric_event *event, struct arena *arena);
// Whether the event makes something worse and nobody has decided about it.
bool metric_event_is_open(const struct metric_history *history, const struct metric_event *event);

// ==== what happened to devices ====
//
// Two things that happen to devices: a driver changes many series at once, and a device is sick.

// ==== what a driver changed ====
//
// The drivers that each of a store's devices had, in their order, and by how much each new one
// moved the times of the same code (model/history/device.h).

struct driver_step {
    const char *device_uuid, *device_name;
    const char *from, *to;
    struct driver_shift shift;
    bool levelled; // no code was timed under both drivers, so the change that links give to the
                   // codes was subtracted
};
struct driver_steps {
    struct driver_step *items; // sorted by device, then in the order of measuring
    size_t count;
};
// Finds the steps of the series that the globs of `wanted` select, or of the controls among them,
// for which no links are needed. A driver that comes back counts as a new one. In the arena.
int drivers_find(struct driver_steps *out, struct store *store, const struct history_wanted *wanted,
                 bool controls, struct arena *arena, struct error *err);

// ==== devices that are sick ====
//
// Sick devices. Their stored controls show that they are sick; they are then taken out of use until
// a person clears them.

struct sick_finding {
    const char *uuid, *name;
    bool gpu;
    bool known; // its controls are enough for a judgement
    bool sick;
    bool out;        // it was taken out earlier, and is not judged again
    const char *why; // one sentence without a full stop; if nothing is known, it says what is
                     // missing
};
// Judges each measured device by its newest runs; imported devices are not judged. `margin` is how
// much slower its controls may be, as a fraction; 0: slowness is not judged. In the arena.
int sick_find(struct sick_finding **out, size_t *count, struct store *store, double margin,
              struct arena *arena, struct error *err);

#endif
