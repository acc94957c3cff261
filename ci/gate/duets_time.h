// SPDX-License-Identifier: Apache-2.0
//
// How the duets of a gate share the time that it has (pure functions; duets.c plays by them).
#ifndef PLUMB_DUETS_TIME_H
#define PLUMB_DUETS_TIME_H

#include "ci/gate/duets.h"

// On the clock of the duets.
struct duets_time {
    double begun_s; // when the first was opened
    double start_s; // that a child takes to start
    double now_s;
};

// Must those that are open without an alarm make way? They must when the time up to the deadline is
// no more than the alarms need to be confirmed, or when the first process has had half of it.
bool duets_pressed(const struct duets *duets, const struct duets_time *time);

#endif
