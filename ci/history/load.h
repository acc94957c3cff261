// SPDX-License-Identifier: Apache-2.0
//
// The one way from a store to the history of its series: which series, each read, judged
// (history_kept_judge()) and dropped again, then all of them looked at together. `history`, `site`
// and the report of a run say the same of a series because they all ask here.
#ifndef PLUMB_HISTORY_LOAD_H
#define PLUMB_HISTORY_LOAD_H

#include "ci/history/history.h"
#include "model/base.h"
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

#endif
