// SPDX-License-Identifier: Apache-2.0
//
// The measuring of a gate: each task's base and head side by side, all together, with a few builds
// against themselves among them. What needs no pairs (the same code, a new kernel, a resumed run's
// results) is done first. Every result is stored as soon as it is known.
#ifndef PLUMB_GATE_MEASURE_H
#define PLUMB_GATE_MEASURE_H

#include "ci/gate/measuring.h"

// Verdicts of A/A series, policy.gate.self_test of them or as many as can be measured; in the run's
// arena.
struct gate_self {
    struct verdict *verdicts;
    size_t count;
};

// Fills the results of the tasks. A series chosen for the self test whose kernel turns out
// not to do its problem is replaced by another.
int gate_measure(struct gate_self *self, struct run *run, const struct task_list *tasks,
                 struct measuring *measuring, struct error *err);
// The same for the tasks of several comparisons, each of a run of its own, all side by side,
// without a self test.
int compare_measure(const struct task_list *lists, size_t count, struct measuring *measuring,
                    struct error *err);

#endif
