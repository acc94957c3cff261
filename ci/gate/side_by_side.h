// SPDX-License-Identifier: Apache-2.0
//
// Measuring the tasks of a gate, all side by side with their baselines (ci/gate/duets.h says how).
// Which tasks these are is gate_measure.h's to say.
#ifndef PLUMB_SIDE_BY_SIDE_H
#define PLUMB_SIDE_BY_SIDE_H

#include "ci/gate/measuring.h"

// What a gate, or several comparisons together, measure side by side, until each series decides,
// its alarm is confirmed or refuted in fresh processes, or the time is spent.
struct gate_work {
    // Base against head. Those of a device of several units are left with the unit that they were
    // on first, as their results are.
    struct task *const *tasks;
    size_t count;
    struct task *const *self; // a build against itself (self_tests.h): what differs is chance
    size_t self_count;
    // Of those, UNITS_MOST for each, made here by unit; pairs is 0 where none could be measured.
    struct verdict *verdicts;
    void *context;
    // Told of each task as soon as its result->base and head are filled; not told of one that had
    // no time: its two measurements are not taken. Its verdict is made by judge_gate().
    int (*done)(void *context, const struct task *task, struct error *err);
};
int measure_side_by_side(struct measuring *measuring, const struct gate_work *work,
                         struct error *err);

#endif
