// SPDX-License-Identifier: Apache-2.0
//
// What to do about what a gate left undecided: which limit of the policy ended it, and what it
// would have to be.
#ifndef PLUMB_NEXT_STEP_H
#define PLUMB_NEXT_STEP_H

#include "ci/gate/task_list.h"

// Adds the next step to the sentence of every undecided series that was compared. Results stand in
// the order of the tasks.
void say_next_steps(struct run *run, const struct task_list *tasks, const struct policy *policy);

#endif
