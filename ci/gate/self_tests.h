// SPDX-License-Identifier: Apache-2.0
//
// Which series a gate tests itself on: pairs of a build with itself, among the others and in their
// processes. What differs there is chance, or the machine's doing, so a run that tells such a pair
// apart is void.
//
// Those that are compared come first. A verdict hangs on them alone, they are timed here in the way
// that is to be tested (same device, same kernel, records or libraries), and whoever opens one
// again finds its record made, its libraries loaded and, of a plain problem, its reference
// computed. When they are not enough, others are taken from the devices that they are on, whose
// references cost least: that of 4096x4096x7168 with block scales takes longer than a whole gate of
// small series.
#ifndef PLUMB_SELF_TESTS_H
#define PLUMB_SELF_TESTS_H

#include "ci/gate/task_list.h"

// Fills `order`, which has room for all of the tasks, with those that a self test may take,
// and returns how many these are. `compared` are what is to be measured as pairs now, in their
// order; the first `wanted` of `order` are spread over them.
size_t self_tests_order(struct task **order, const struct task_list *tasks,
                        struct task *const *compared, size_t compared_count, size_t wanted);

// Which build of the task meets itself: the base, which is known to work more often.
enum sample_role self_tests_role(const struct task *task);

#endif
