// SPDX-License-Identifier: Apache-2.0
//
// A series of one kernel whose times follow from the commits' numbers alone: three steps, noise of
// 0.2 %, and a new driver at 300 and at 1050. Each of these ends the test program on failure.
#ifndef PLUMB_HELPER_STEPPED_H
#define PLUMB_HELPER_STEPPED_H

#include "baselines/store.h"

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
