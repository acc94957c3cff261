// SPDX-License-Identifier: Apache-2.0
//
// The plan: which series a run has. Kernels of the builds x problems of the policy x devices that
// are here. One task fills one result of the run.
#ifndef PLUMB_PLAN_H
#define PLUMB_PLAN_H

#include "ci/gate/task.h"

struct plan {
    struct task *tasks; // sorted by device, kernel, problem
    size_t count;
};

// Makes run->results (in run->arena), one per task. `base` may be NULL (a plain run). Kernels no
// section of the policy names are left out; how many is said as a note.
int plan_make(struct plan *out, struct run *run, struct context *context, const struct built *base,
              const struct built *head, struct error *err);

// The policy has a section for the kernel on some device of its kind, or leaves it out on purpose.
bool plan_names(const struct context *context, const struct built_kernel *kernel);

// What a step of a bisection compares, or a link: series of two commits.
struct compared {
    const struct context_device *device;
    const char *kernel;
    const struct problem *problem;
    uint32_t back; // of a link: codes from base to head; 0: of a bisection
};
struct comparison {
    const struct built *base, *head;
    const struct compared *series;
    size_t count; // at least 1
};
// A plan of them; their results become run->results, in the same order.
int plan_comparison(struct plan *out, struct run *run, struct context *context,
                    const struct comparison *what, struct error *err);

#endif
