// SPDX-License-Identifier: Apache-2.0
//
// The order in which series are taken for a gate's test of itself.
#include "ci/gate/self_tests.h"

#include <math.h>
#include <stdlib.h>

// What is no plain problem has a reference that reads its operands element by element.
static const double form_factor = 8;

enum sample_role self_tests_role(const struct task *task)
{
    return task->base ? ROLE_BASE : ROLE_HEAD;
}

// In strides, so that the first few are spread over all of them.
static size_t add_compared(struct task **order, struct task *const *compared, size_t count,
                           size_t wanted)
{
    const size_t stride = (count + wanted - 1) / wanted;
    size_t added = 0;
    for (size_t turn = 0; turn < stride * wanted; turn++) {
        const size_t at = turn % wanted * stride + turn / wanted;
        if (at < count)
            order[added++] = compared[at];
    }
    return added;
}

// A verdict hangs on pairs of this device.
static bool has_pairs(const struct task_list *tasks, const struct context_device *device)
{
    for (size_t i = 0; i < tasks->count; i++) {
        if (tasks->items[i].device->policy == device->policy && task_is_paired(&tasks->items[i]))
            return true;
    }
    return false;
}

// Of its reference, in operations of a plain one. Nobody but its library knows what that of a
// kernel takes that is no GEMM.
static double cost(const struct task *task)
{
    const struct problem *problem = &task->result->problem;
    if (problem->number_count)
        return INFINITY;
    return problem_flops(problem) * (problem_is_plain(problem) ? 1 : form_factor);
}

// A pair that is not compared now has failed before, or is known from an interrupted run: last.
static int by_cost(const void *left, const void *right)
{
    const struct task *a = *(const struct task *const *)left;
    const struct task *b = *(const struct task *const *)right;
    const bool paired[] = {task_is_paired(a), task_is_paired(b)};
    const double costs[] = {cost(a), cost(b)};
    if (paired[0] != paired[1])
        return paired[0] - paired[1];
    if (costs[0] != costs[1])
        return costs[0] < costs[1] ? -1 : 1;
    return a < b ? -1 : a > b;
}

size_t self_tests_order(struct task **order, const struct task_list *tasks,
                        struct task *const *compared, size_t compared_count, size_t wanted)
{
    if (wanted == 0)
        return 0;
    const size_t first = add_compared(order, compared, compared_count, wanted);
    size_t count = first, next = 0;
    for (size_t i = 0; i < tasks->count; i++) {
        struct task *task = &tasks->items[i];
        if (next < compared_count && compared[next] == task)
            next++;
        else if (task->head && !task->device->away && has_pairs(tasks, task->device))
            order[count++] = task;
    }
    if (count > first)
        qsort(order + first, count - first, sizeof(struct task *), by_cost);
    return count;
}
