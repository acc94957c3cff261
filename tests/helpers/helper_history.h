// SPDX-License-Identifier: Apache-2.0
//
// Stores with a history: a scene in which something happens, and a series that steps.
#ifndef PLUMB_HELPER_HISTORY_H
#define PLUMB_HELPER_HISTORY_H

#include "baselines/store.h"

// Stores with a history of COMMITS commits of one kernel and its controls, in which something
// happens at STEP. Times have noise of 0.2 %. Ends the test program on failure.

enum { COMMITS = 60, STEP = 40, KERNELS = 6 };

struct scene {
    double step;          // log ratio of kernel 0 from STEP on
    double common;        // of every series from STEP on
    int64_t (*time)(int); // of a commit; NULL: one per hour
    bool driver;          // another driver from STEP on
    const char *card;     // the device from STEP on, of the same model; NULL: the same
    const char *model;    // or of this model
    bool turns;           // the two take turns from the beginning
    bool remodel;         // from STEP on another version predicts 4 % more for kernel 0
    bool no_controls;     // the others are kernels as the first is
    bool keep_code;       // the code never changes
    bool wrong;           // the controls compute wrong results from STEP on
    bool parents;         // commits name the one before
    bool gaps;            // every third commit is missing
    int repeat;           // measured so many times more
    const char *ids;      // begin of the commit ids
};

// Runs of the commits from `first` to before `end`; the same seed gives the same times.
void scene_save(struct store *store, const struct scene *scene, int first, int end, uint64_t seed);
// A new store of this name in the scratch folder, open for writing, with all of the scene.
struct store *scene_store(const char *name, const struct scene *scene);

// A series of one kernel whose times follow from the commits' numbers alone: three steps, noise of
// 0.2 %, and a new driver at 300 and at 1050. Each of these ends the test program on failure.

enum { FIRST_STEP = 420, SECOND_STEP = 900, THIRD_STEP = 1100 }; // +2 %, -3 %, +2.5 %

// While it is set, the times of the commits that are added repeat and go back.
extern bool stepped_unsteady;

// Adds a run of this commit; `more` is added to its log time.
void stepped_commit(struct store *store, unsigned number, double more);
// Adds those from `from` to before `to` in one batch.
void stepped_commits(struct store *store, unsigned from, unsigned to);
// A new store of them, open for writing. The caller closes it.
struct store *stepped_store(const char *path, unsigned from, unsigned to);

#endif
