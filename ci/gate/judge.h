// SPDX-License-Identifier: Apache-2.0
//
// From measurements and predictions to verdicts and their sentences; conclude.h goes on from there.
// Decides nothing about time itself: that is model/gate/gate.h and model/history/drift.h.
#ifndef PLUMB_JUDGE_H
#define PLUMB_JUDGE_H

#include "ci/gate/task_list.h"
#include "model/result.h"

// Loads the history of each series from the store, without this run.
int judge_history(struct run *run, struct context *context, struct error *err);

// Verdicts of a gate, each series for itself (release_alarms() comes after it): identical code is
// the same by identity, and pairs are judged. `self` are the verdicts of the run's A/A series: they
// show what the environment did.
int judge_gate(struct run *run, const struct task_list *tasks, struct context *context,
               const struct built *base, const struct built *head, const struct verdict *self,
               size_t self_count, struct error *err);

// Verdicts of a plain run: by the link of a new code with the one before it, where they were
// compared, else by absolute times against each series' own history.
int judge_run(struct run *run, const struct task_list *tasks, struct context *context,
              struct error *err);

// ---- predictions: what the policy's model says of each series ----

// Checks, before anything is measured, that the policy's model and biases are there. -1: no.
int predicting_ready(const struct context *context, struct error *err);

// Fills each result's prediction: the model's at its observed clock, times its kernel's bias. -1 as
// predicting_ready().
int predicting_fill(struct run *run, const struct task_list *tasks, const struct context *context,
                    struct error *err);

// ---- next steps ----
//
// A next step says which limit of the policy left a series of a gate undecided, and which value the
// limit would need.

// Adds the next step to the sentence of every undecided series that was compared. Results stand in
// the order of the tasks.
void say_next_steps(struct run *run, const struct task_list *tasks, const struct policy *policy);

// ---- all series of a gate ----
//
// The one step of judging that needs all series of a gate at once. Where a gate is measured in
// parts it comes when they are joined, and says what it would have said of the whole.

// Takes back alarms that do not stand among all series: their series become undecided, without
// cause and explanation. Results of one kernel on one device stand together.
void release_alarms(struct run *run);

#endif
