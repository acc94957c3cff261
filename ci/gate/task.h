// SPDX-License-Identifier: Apache-2.0
//
// A task: one series of a run that is to be measured, and what the store knows of it already.
// task_list.h has all of a run.
#ifndef PLUMB_TASK_H
#define PLUMB_TASK_H

#include "ci/gate/built.h"
#include "model/gate/gate.h"

struct task {
    struct run *run; // that the result is of
    struct result *result;
    const struct policy_kernel *rule;
    const struct context_device *device;
    const struct built_kernel *base, *head; // NULL: this build has no such kernel
    enum gate_use use;                      // of its pairs
};

// Both builds have it, here, and not as the same code: it is measured side by side, as pairs.
bool task_is_paired(const struct task *task);

// Says which series is being done.
void task_show(const struct task *task, struct context *context);
// *found: the interrupted run that the task's goes on with had measured this series; result is
// filled, and its device is the unit that had it.
int task_resumed(bool *found, struct task *task, struct context *context, struct error *err);
// The regime of a measurement that is a crash or a timeout by the code's own fault, under the time
// limit of this policy: such a code need not be tried again.
const char *task_failure_regime(struct context *context);

// *found: the store knows a measurement of the head's code on this device, made with the
// driver that is there now, or that it fails by its own fault; result->head is filled.
int task_reuse(bool *found, const struct task *task, struct context *context, struct error *err);
// Which sides' code the store knows to crash or to hang by its own fault; those
// measurements are filled. What is known to be wrong is measured again: that costs little.
struct task_failure {
    bool base, head;
};
int task_known_to_fail(struct task_failure *out, const struct task *task, struct context *context,
                       struct error *err);

#endif
