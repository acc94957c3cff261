// SPDX-License-Identifier: Apache-2.0
//
// Stores with a history of COMMITS commits of one kernel and its controls, in which something
// happens at STEP. Times have noise of 0.2 %. Ends the test program on failure.
#ifndef PLUMB_HELPER_SCENE_H
#define PLUMB_HELPER_SCENE_H

#include "baselines/store.h"

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

#endif
