// SPDX-License-Identifier: Apache-2.0
//
// The measuring of a gate: each task's base and head side by side, all together, with a few builds
// against themselves among them. What needs no pairs (the same code, a new kernel, a resumed run's
// results) is done first. Every result is stored as soon as it is known.
#ifndef PLUMB_GATE_MEASURE_H
#define PLUMB_GATE_MEASURE_H

#include "ci/gate/measuring.h"
#include "ci/gate/task_list.h"

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

// gate_measure() for the tasks of several comparisons, each of a run of its own, all side by side,
// without a self test.
int compare_measure(const struct task_list *lists, size_t count, struct measuring *measuring,
                    struct error *err);

// ---- self tests ----
//
// A self test plays pairs of a build with itself, among the gate's others and in their processes. A
// difference between the two is chance, or the machine's doing, so a run that tells such a pair
// apart is void.
//
// Compared series come first. A verdict hangs on them alone, they are timed here in the way that is
// to be tested (same device, same kernel, records or libraries), and whoever opens one again finds
// its record made, its libraries loaded and, for a plain problem, its reference computed. When they
// are not enough, other series on the same devices are taken, cheapest references first: that of
// 4096x4096x7168 with block scales takes longer than a whole gate of small series.

// Fills `order`, which has room for all tasks, with tasks that a self test may take, and returns
// their number. `compared` are the tasks that are to be measured as pairs now, in their order; the
// first `wanted` of `order` are spread over them.
size_t self_tests_order(struct task **order, const struct task_list *tasks,
                        struct task *const *compared, size_t compared_count, size_t wanted);

// The build that meets itself in the task's self test: the base, because it is known to work more
// often.
enum sample_role self_tests_role(const struct task *task);

#endif
