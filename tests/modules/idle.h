// SPDX-License-Identifier: Apache-2.0
//
// A kernel that takes every problem and does nothing, for libraries that are refused before it
// runs.
#ifndef PLUMB_TESTS_MODULES_IDLE_H
#define PLUMB_TESTS_MODULES_IDLE_H

#include "kernels/kernel.h"

static int idle_supports(const struct plumb_problem *p)
{
    (void)p;
    return 1;
}

static int idle_launch(const struct plumb_args *args, void *stream)
{
    (void)args;
    (void)stream;
    return 0;
}

#endif
