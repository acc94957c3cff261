// SPDX-License-Identifier: Apache-2.0
//
// Two builds of one kernel as the compiler reports them, alike until a test changes one.
#ifndef PLUMB_HELPER_FACTS_H
#define PLUMB_HELPER_FACTS_H

#include "ci/gate/explain.h"
#include "ci/gate/task_list.h"

// One function each: 128 registers, 256 threads, so that two blocks fit on an SM of an H200. Raise
// base.functions.count or head.functions.count for the second, which is like it but for its name.
struct two_builds {
    struct code_function base_functions[2], head_functions[2];
    struct code_facts base, head;
    struct built_kernel base_kernel, head_kernel;
    struct context_device device;
    struct result result;
    struct task task;
    struct arena arena;
    const char *why, *lines; // of explain_code()
};

// cmocka's set-up and tear-down: *state is a struct two_builds.
int two_builds_set_up(void **state);
int two_builds_tear_down(void **state);

#endif
