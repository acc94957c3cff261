// SPDX-License-Identifier: Apache-2.0
//
// The tasks of a run: each kernel of the builds on each problem of the policy on each device that
// is here. One task fills in one result of the run.
#ifndef PLUMB_TASK_LIST_H
#define PLUMB_TASK_LIST_H

#include "ci/gate/built.h"
#include "model/gate/gate.h"

// One series of a run that is to be measured, and what the store already knows of it.
struct task {
    struct run *run; // the run that has the result
    struct result *result;
    const struct policy_kernel *rule;
    const struct context_device *device;
    const struct built_kernel *base, *head; // NULL: this build has no such kernel
    enum gate_use use;                      // what its pairs are used for
};

// Whether the policy asks for this task to be replayed from records.
bool task_is_recorded(const struct task *task);

// Whether a task is measured by pairs: both builds have it here, and not with the same code.
bool task_is_paired(const struct task *task);

// The gate's numbers for a task. They are the defaults for its device and size, with the policy's
// numbers on top. The size is gate_size_ns() of the base's samples, so that measuring and judging
// again agree. The scale comes from earlier runs of this series only: a run that has stored its
// pairs already must judge them as it did while measuring.
int task_policy(struct gate_policy *out, struct context *context, const struct task *task,
                const struct sample *base, size_t count, struct error *err);

// *found: the same run was interrupted and had measured this series. Then result is filled in, and
// its device is the unit that measured it.
int task_resumed(bool *found, struct task *task, struct context *context, struct error *err);

// The regime of a crash or a timeout, under the time limit of this policy, that is the code's own
// fault. Such a code need not be tried again.
const char *task_failure_regime(struct context *context);

// *found: the store has a measurement of the head's code on this device under its present driver,
// or knows that the code fails by its own fault. Then result->head is filled in.
int task_reuse(bool *found, const struct task *task, struct context *context, struct error *err);

// *found: some run, which may be a gate, launched the head's code in this series on one of the
// units, or the code was correct in another regime. If its results were wrong, result->head is
// filled in.
int task_launched(bool *found, const struct task *task, struct context *context, struct error *err);

// Says for each side whether the store knows that its code crashes or hangs by its own fault. The
// measurements of such sides are filled in without a launch. Code that is known to be wrong is
// measured again, because that costs little.
struct task_failure {
    bool base, head;
};

int task_known_to_fail(struct task_failure *out, const struct task *task, struct context *context,
                       struct error *err);

struct task_list {
    struct task *items; // sorted by device, kernel, problem
    size_t count;
};

// Makes run->results (in run->arena), one for each task. `base` may be NULL (a plain run). Kernels
// that no section of the policy names are left out; a note says how many.
int task_list_make(struct task_list *out, struct run *run, struct context *context,
                   const struct built *base, const struct built *head, struct error *err);

// ---- self tests ----
//
// A self test plays pairs of a build with itself, among the gate's other pairs and in the same
// processes. A difference between the two can only be chance or the machine's doing, so a run that
// finds one is void.
//
// Series that the gate compares are taken first, because verdicts depend on them alone. They are
// timed here in the way that is to be tested (same device, same kernel, records or libraries).
// Opening them again is cheap: the record is made, the libraries are loaded and, for a plain
// problem, the reference is computed. When they are not enough, other series on the same devices
// are taken, those with cheap references first: the reference of 4096x4096x7168 with block scales
// takes longer than a whole gate of small series.

// Fills `order`, which has room for all tasks, with the tasks that a self test may take, and
// returns their number. `compared` are the tasks that are now to be measured as pairs, in their
// order. The first `wanted` entries of `order` are spread over them.
size_t self_tests_order(struct task **order, const struct task_list *tasks,
                        struct task *const *compared, size_t compared_count, size_t wanted);

// The build that meets itself in the task's self test. It is the base where possible, because the
// base is known to work more often.
enum sample_role self_tests_role(const struct task *task);

// One series of two commits that is compared by a link or a step of a bisection.
struct compared_series {
    const struct context_device *device;
    const char *kernel;
    const struct problem *problem;
    uint32_t back; // for a link, the number of codes from base to head; 0: a step of a bisection
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
// Tells without any device whether a policy and a commit's kernels fit together: which series there
// are, and which kernels and problems would silently not be measured.

struct coverage {
    struct task_list tasks; // the tasks of a plain run of the commit
    const bool *supports;   // for each task: the kernel supports the problem
    // Sentences about two kinds of gaps: a kernel that no section names or that supports none of
    // its problems, and a problem that no kernel supports.
    const char **complaints;
    size_t complaint_count;
};

// Finds the coverage. Everything lives in run->arena; this function begins `run`. built->state must
// be MEASURED_OK. -1: the tool could not do its work, or there is no series at all.
int coverage_find(struct coverage *out, struct run *run, struct context *context,
                  const struct built *built, struct error *err);

// ==== what is known already ====
//
// Tells whether a commit still needs a run or the store knows enough of it, and which series are
// measured in any case.

// True when pipeline_measure() would find nothing to do for this commit and toolchain (NULL: the
// default). With `any_driver`, measurements under any driver that the device has had count.
int run_known(bool *known, struct context *context, const struct to_build *head, bool any_driver,
              struct error *err);

// The same for the newest of the commits that are asked for. Its tree may be known from an earlier
// commit which it reverts to, or from a branch that was rewritten. The history must be told that
// the tree is now at this commit, so this is false until a plain run of this commit itself has
// ended. It is also false when a selection (--kernel, --problem) leaves nothing of the commit,
// because the run has to say so.
int run_known_newest(bool *known, struct context *context, const struct to_build *head,
                     bool any_driver, struct error *err);

// Which series are measured again although the store knows them: none, only the controls (they show
// what the machine did when nothing is new), or all.
enum anew { ANEW_NOTHING, ANEW_CONTROLS, ANEW_ALL };
// Whether this result of the run is measured again. On a device for which the policy names fewer
// than CONTROLS_FEWEST controls, all series are treated as controls.
bool anew_wanted(enum anew anew, const struct run *run, const struct result *result);

#endif
