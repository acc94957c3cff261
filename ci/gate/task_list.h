// SPDX-License-Identifier: Apache-2.0
//
// The tasks of a run: kernels of the builds x problems of the policy x devices that are here. One
// task fills one result of the run.
#ifndef PLUMB_TASK_LIST_H
#define PLUMB_TASK_LIST_H

#include "ci/gate/built.h"
#include "model/gate/gate.h"

// One series of a run that is to be measured, and what the store knows of it already.
struct task {
    struct run *run; // that the result is of
    struct result *result;
    const struct policy_kernel *rule;
    const struct context_device *device;
    const struct built_kernel *base, *head; // NULL: this build has no such kernel
    enum gate_use use;                      // of its pairs
};

// Shows on the progress line which series is being done.
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

// *found: any run, a gate too, has launched the head's code in this series on one of the units, or
// it was right in another regime; where its results were wrong result->head is filled.
int task_launched(bool *found, const struct task *task, struct context *context, struct error *err);

// Says for each side whether the store knows its code to crash or to hang by its own fault. The
// measurements of such sides are filled in without a launch. Code that is known to be wrong is
// measured again: that costs little.
struct task_failure {
    bool base, head;
};

int task_known_to_fail(struct task_failure *out, const struct task *task, struct context *context,
                       struct error *err);

struct task_list {
    struct task *items; // sorted by device, kernel, problem
    size_t count;
};

// Makes run->results (in run->arena), one per task. `base` may be NULL (a plain run). Kernels no
// section of the policy names are left out; how many is said as a note.
int task_list_make(struct task_list *out, struct run *run, struct context *context,
                   const struct built *base, const struct built *head, struct error *err);

// One series of two commits that a step of a bisection, or a link, compares.
struct compared_series {
    const struct context_device *device;
    const char *kernel;
    const struct problem *problem;
    uint32_t back; // of a link: codes from base to head; 0: of a bisection
    enum gate_use use;
};

struct commit_comparison {
    const struct built *base, *head;
    const struct compared_series *series;
    size_t count; // at least 1
};

// Makes the tasks of a comparison; their results become run->results, in the same order.
int task_list_of_comparison(struct task_list *out, struct run *run, struct context *context,
                            const struct commit_comparison *what, struct error *err);

// ---- coverage ----
//
// Tells whether a policy and a commit's kernels fit each other, without any device: which series
// there are, and which kernels and problems would silently not be measured.

struct coverage {
    struct task_list tasks; // of a plain run of the commit
    const bool *supports;   // per task: the kernel can do the problem
    // Sentences: a kernel that no section names, or that does none of its problems; a problem that
    // no kernel does.
    const char **complaints;
    size_t complaint_count;
};

// Everything lives in run->arena; `run` is begun by this. built->state is MEASURED_OK. -1: the tool
// could not do its work, or there is no series at all.
int coverage_find(struct coverage *out, struct run *run, struct context *context,
                  const struct built *built, struct error *err);

// ==== what is known already ====
//
// Tells whether a commit still needs a run, or the store knows enough of it; and which series are
// measured all the same.

// True when pipeline_measure() would find nothing to do for this commit and toolchain (NULL: the
// default); with `any_driver`, when it had been so under one of the drivers that the device has
// had.
int run_known(bool *known, struct context *context, const struct to_build *head, bool any_driver,
              struct error *err);

// The same of the newest commit of those that are asked for. A tree that is known may be an earlier
// commit's, of which this one is the revert, or of a branch that was written anew: history has to
// be told that it is there now, so this is false until a plain run of this very commit has ended.
// And of a selection (--kernel, --problem) that leaves nothing of it the run has to say so.
int run_known_newest(bool *known, struct context *context, const struct to_build *head,
                     bool any_driver, struct error *err);

// Says which series are measured again although the store knows them: none, the controls alone
// (they show what the machine did where nothing is new), or all.
enum anew { ANEW_NOTHING, ANEW_CONTROLS, ANEW_ALL };
// Whether this result of the run is measured again. A device for which the policy names fewer than
// CONTROLS_FEWEST controls has all of its series as controls.
bool anew_wanted(enum anew anew, const struct run *run, const struct result *result);

#endif
