// SPDX-License-Identifier: Apache-2.0
//
// What a child and all that it started use together, looked at now and then by its keeper: limits
// of the kernel are per process, do not bind root, and know no folders. Internal to
// runner/child/keeper.c.
#ifndef PLUMB_WATCH_H
#define PLUMB_WATCH_H

#include "runner/child/process.h"

#include <sys/types.h>

struct watch {
    const struct process_limits *limits;
    pid_t keeper;
    const struct processors_site *aside; // of the plan
    cpu_set_t ours;                      // where they could be if nobody measured
    bool led;                            // they are not there
    double next_s, next_disk_s;          // CLOCK_MONOTONIC
};

// A watch of what the caller, the keeper, will start. With plan->aside the caller itself goes
// aside, and what it starts begins there.
void watch_begin(struct watch *watch, const struct process_plan *plan);
// Is there anything to look at?
bool watch_wanted(const struct watch *watch);
// Looks, if it is time, and leads aside who should be. What is used beyond its limit,
// PROCESS_WITHIN otherwise. A look that takes long is taken seldom: never more than a twentieth of
// the time.
enum process_excess watch_look(struct watch *watch);
// Looks once more when the child has ended, at what stays: on the disk.
enum process_excess watch_last(const struct watch *watch);

#endif
