// SPDX-License-Identifier: Apache-2.0
//
// The measuring of one commit alone, where a gate has pairs (gate_measure.h).
#ifndef PLUMB_SOLO_MEASURE_H
#define PLUMB_SOLO_MEASURE_H

#include "ci/gate/known.h"
#include "ci/gate/measuring.h"

// Fills the head's measurements of the tasks. What an interrupted run has measured is taken
// from it, and what the store knows of the same code too, but for what is wanted again.
int solo_measure(struct run *run, const struct task_list *tasks, struct measuring *measuring,
                 enum anew anew, struct error *err);

#endif
