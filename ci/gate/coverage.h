// SPDX-License-Identifier: Apache-2.0
//
// Whether a policy and a commit's kernels fit each other, found without any device: which series
// there are, and what would silently not be measured.
#ifndef PLUMB_COVERAGE_H
#define PLUMB_COVERAGE_H

#include "ci/gate/task_list.h"

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

#endif
