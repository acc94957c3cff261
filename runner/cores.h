// SPDX-License-Identifier: Apache-2.0
//
// Processor cores for a thread and all that it starts, so that several that measure side by side do
// not disturb each other.
#ifndef PLUMB_CORES_H
#define PLUMB_CORES_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

struct cores {
    cpu_set_t set;
};

// The share number `share` (from 0) of `shares` equal ones of the cores that this thread may use;
// *before is what it had. False, and nothing is changed: one share, or fewer cores than shares.
bool cores_take(struct cores *before, size_t share, size_t shares);
void cores_give_back(const struct cores *before);

#endif
