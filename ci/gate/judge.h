// SPDX-License-Identifier: Apache-2.0
//
// From measurements and predictions to verdicts and their sentences; conclude.h goes on from there.
// Decides nothing about time itself: that is model/gate/gate.h and model/history/drift.h.
#ifndef PLUMB_JUDGE_H
#define PLUMB_JUDGE_H

#include "ci/gate/task_list.h"

// What the store knows of each series, without this run.
int judge_history(struct run *run, struct context *context, struct error *err);
// Verdicts of a gate, each series for itself (release.h comes after it): identical code is the same
// by identity, and pairs are judged.
// `self` are the verdicts of the run's A/A series: they show what the environment did.
int judge_gate(struct run *run, const struct task_list *tasks, struct context *context,
               const struct built *base, const struct built *head, const struct verdict *self,
               size_t self_count, struct error *err);
// Verdicts of a plain run: by the link of a new code with the one before it, where they were
// compared, else by absolute times against each series' own history.
int judge_run(struct run *run, const struct task_list *tasks, struct context *context,
              struct error *err);

#endif
