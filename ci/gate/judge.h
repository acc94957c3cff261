// SPDX-License-Identifier: Apache-2.0
//
// Turns measurements and predictions into verdicts and their sentences; conclude.h goes on from
// there. What a change in time means is decided elsewhere: model/gate/gate.h and
// model/history/drift.h.
#ifndef PLUMB_JUDGE_H
#define PLUMB_JUDGE_H

#include "ci/gate/task_list.h"
#include "model/result.h"

// Loads the history of each series from the store, without the points of this run.
int judge_history(struct run *run, struct context *context, struct error *err);

// Gives each series of a gate its verdict, looking at that series only (release_alarms() comes
// after it). Identical code is "same" without pairs; other series are judged by their pairs. `self`
// holds the verdicts of the run's A/A series, which show what the environment did.
int judge_gate(struct run *run, const struct task_list *tasks, struct context *context,
               const struct built *base, const struct built *head, const struct verdict *self,
               size_t self_count, struct error *err);

// Gives each series of a plain run its verdict. A new code that was compared with the one before it
// is judged by that link; otherwise absolute times are judged against the series' own history.
int judge_run(struct run *run, const struct task_list *tasks, struct context *context,
              struct error *err);

// ---- predictions: the time that the policy's model predicts for each series ----

// Checks, before anything is measured, that the policy's model and biases exist. -1: they do not.
int predicting_ready(const struct context *context, struct error *err);

// Fills in each result's prediction: the model's time at the observed clock, times the bias of the
// kernel. Fails as predicting_ready() does.
int predicting_fill(struct run *run, const struct task_list *tasks, const struct context *context,
                    struct error *err);

// ---- next steps ----
//
// A next step says which limit of the policy left a series of a gate undecided, and which value the
// limit would need.

// Adds the next step to the sentence of every series that was compared and is undecided. Results
// have the order of the tasks.
void say_next_steps(struct run *run, const struct task_list *tasks, const struct policy *policy);

// ---- all series of a gate ----
//
// The one step of judging that needs all series of a gate at once. For a gate measured in parts it
// runs when the parts are joined, and gives the result that an undivided gate would have given.

// Takes back alarms that do not stand among all series of the gate. Their series become undecided,
// without cause and explanation. Results of one kernel on one device must stand together.
void release_alarms(struct run *run);

#endif
