// SPDX-License-Identifier: Apache-2.0
//
// The tasks of a run: kernels of the builds x problems of the policy x devices that are here. One
// task fills one result of the run.
#ifndef PLUMB_TASK_LIST_H
#define PLUMB_TASK_LIST_H

#include "ci/gate/task.h"

struct task_list {
    struct task *items; // sorted by device, kernel, problem
    size_t count;
};

// Makes run->results (in run->arena), one per task. `base` may be NULL (a plain run). Kernels no
// section of the policy names are left out; how many is said as a note.
int task_list_make(struct task_list *out, struct run *run, struct context *context,
                   const struct built *base, const struct built *head, struct error *err);

// The policy has a section for the kernel on some device of its kind, or leaves it out on purpose.
bool task_list_names(const struct context *context, const struct built_kernel *kernel);

// What a step of a bisection compares, or a link: series of two commits.
struct compared {
    const struct context_device *device;
    const char *kernel;
    const struct problem *problem;
    uint32_t back; // of a link: codes from base to head; 0: of a bisection
    enum gate_use use;
};
struct comparison {
    const struct built *base, *head;
    const struct compared *series;
    size_t count; // at least 1
};
// The tasks of it; their results become run->results, in the same order.
int task_list_of_comparison(struct task_list *out, struct run *run, struct context *context,
                            const struct comparison *what, struct error *err);

#endif
