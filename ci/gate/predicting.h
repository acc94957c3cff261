// SPDX-License-Identifier: Apache-2.0
//
// The predictions of a run: what the policy's model says of each series.
#ifndef PLUMB_PREDICTING_H
#define PLUMB_PREDICTING_H

#include "ci/gate/task_list.h"

// Before anything is measured: are the policy's model and its biases there? -1: no.
int predicting_ready(const struct context *context, struct error *err);
// The prediction of each result, at its observed clock, times its kernel's bias. -1 as
// predicting_ready().
int predicting_fill(struct run *run, const struct task_list *tasks, const struct context *context,
                    struct error *err);

#endif
