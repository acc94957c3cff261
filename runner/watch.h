// SPDX-License-Identifier: Apache-2.0
//
// What a child and all that it started use together, looked at now and then by its keeper: limits
// of the kernel are per process, do not bind root, and know no folders. Internal to
// runner/keeper.c.
#ifndef PLUMB_WATCH_H
#define PLUMB_WATCH_H

#include "runner/process.h"

#include <sys/types.h>

struct watch {
    const struct process_limits *limits;
    pid_t keeper;
    double next_s, next_disk_s; // CLOCK_MONOTONIC
};

// Is there anything to look at?
bool watch_wanted(const struct process_limits *limits);
// Looks, if it is time. What is used beyond its limit, PROCESS_WITHIN otherwise. A look that takes
// long is taken seldom: never more than a twentieth of the time.
enum process_excess watch_look(struct watch *watch);

#endif
