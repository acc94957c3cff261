// SPDX-License-Identifier: Apache-2.0
//
// The measuring of gates and comparisons, from their tasks: what needs no pairs is settled, the
// rest becomes duets, and every result is stored when it is known.
#include "ci/gate/gate_measure.h"
#include "ci/gate/self_tests.h"
#include "ci/gate/side_by_side.h"

#include <stdlib.h>
#include <string.h>

static int save(const struct task *task, struct context *context, struct error *err)
{
    return task->run->id ? store_save_result(context->store, task->run, task->result, err) : 0;
}

static int save_compared(void *measuring, const struct task *task, struct error *err)
{
    struct context *context = ((const struct measuring *)measuring)->context;
    task_show(task, context);
    return save(task, context, err);
}

// What there is no pair to measure of: nothing here, the same code, or no base.
static int gate_unpaired(const struct task *task, struct measuring *measuring, struct error *err)
{
    struct context *context = measuring->context;
    const bool here = task->head && !task->device->away;
    bool found = false;
    int status = 0;
    if (!task->base)
        task_show(task, context);
    if (here && !task->base) {
        status = measure_solo(measuring, task, ROLE_HEAD, err);
    } else if (here) {
        status = task_reuse(&found, task, context, err);
        task->result->reused = true;
    }
    return status ? -1 : save(task, context, err);
}

// *known: one side's code is known to crash or hang, so that there is nothing to compare; the other
// side is measured alone, for a head is to blame only where the base works.
static int gate_failing(bool *known, const struct task *task, struct measuring *measuring,
                        struct error *err)
{
    struct task_failure failure;
    if (task_known_to_fail(&failure, task, measuring->context, err))
        return -1;
    *known = failure.base || failure.head;
    if (!*known)
        return 0;
    task_show(task, measuring->context);
    if (!(failure.base && failure.head) &&
        measure_solo(measuring, task, failure.base ? ROLE_HEAD : ROLE_BASE, err))
        return -1;
    task->result->reused = failure.head;
    return save(task, measuring->context, err);
}

// *made: both sides can be timed as the policy wants it; where it trusts device code alone, a
// kernel that cannot be recorded is not measured, and its result says why.
static int gate_recorded(bool *made, const struct task *task, struct measuring *measuring,
                         struct error *err)
{
    bool base = true, head = true;
    if (recording_wanted(task) &&
        (measuring_record(&base, measuring, task, ROLE_BASE, &task->result->base, err) ||
         measuring_record(&head, measuring, task, ROLE_HEAD, &task->result->head, err)))
        return -1;
    *made = base && head;
    if (*made)
        return 0;
    if (head && measure_solo(measuring, task, ROLE_HEAD, err))
        return -1;
    return save(task, measuring->context, err);
}

// *wanted: its pairs are still to be measured. What needs none is done here.
static int gate_task(bool *wanted, struct task *task, struct measuring *measuring,
                     struct error *err)
{
    bool resumed = false, failing = false;
    *wanted = false;
    if (task->run->id && task_resumed(&resumed, task, measuring->context, err))
        return -1;
    if (resumed)
        return 0;
    if (!task_is_paired(task))
        return gate_unpaired(task, measuring, err);
    if (gate_failing(&failing, task, measuring, err))
        return -1;
    return failing ? 0 : gate_recorded(wanted, task, measuring, err);
}

// Adds the tasks that are to be compared to `paired`, and does all others.
static int gate_others(struct task **paired, size_t *count, const struct task_list *tasks,
                       struct measuring *measuring, struct error *err)
{
    for (size_t i = 0; i < tasks->count; i++) {
        bool wanted;
        if (gate_task(&wanted, &tasks->items[i], measuring, err))
            return -1;
        if (wanted)
            paired[(*count)++] = &tasks->items[i];
    }
    return 0;
}

// The run's test of itself.
struct selection {
    struct task **order; // of candidates
    size_t count;
    struct task **tasks;
    struct verdict *verdicts; // of those
    size_t wanted, turn;      // candidates seen
    size_t tested;            // of those wanted
};

static int choose_self(struct gate_work *work, struct selection *s, struct measuring *measuring,
                       struct error *err)
{
    work->self = s->tasks;
    work->verdicts = s->verdicts;
    work->self_count = 0;
    while (s->tested + work->self_count < s->wanted && s->turn < s->count) {
        struct task *task = s->order[s->turn++];
        bool made;
        if (measuring_record(&made, measuring, task, self_tests_role(task), NULL, err))
            return -1;
        if (made)
            s->tasks[work->self_count++] = task;
    }
    memset(s->verdicts, 0, work->self_count * UNITS_MOST * sizeof(*s->verdicts));
    return 0;
}

// Keeps the verdicts of the self tests that could be measured.
static void take_self(struct gate_self *self, struct selection *s, const struct gate_work *work)
{
    for (size_t i = 0; i < work->self_count; i++) {
        const size_t before = self->count;
        for (size_t unit = 0; unit < UNITS_MOST; unit++) {
            if (work->verdicts[i * UNITS_MOST + unit].pairs)
                self->verdicts[self->count++] = work->verdicts[i * UNITS_MOST + unit];
        }
        s->tested += self->count > before;
    }
}

int gate_measure(struct gate_self *out, struct run *run, const struct task_list *tasks,
                 struct measuring *measuring, struct error *err)
{
    struct context *context = measuring->context;
    struct task **paired = arena_alloc(&run->arena, (tasks->count + 1) * sizeof(*paired));
    struct gate_work work = {.tasks = paired, .context = measuring, .done = save_compared};
    struct selection selection = {.wanted = context->policy.gate.self_test};
    struct gate_self self = {0};
    const size_t most = (selection.wanted + 1) * UNITS_MOST;
    self.verdicts = arena_alloc(&run->arena, most * sizeof(*self.verdicts));
    selection.verdicts = arena_alloc(&run->arena, most * sizeof(*selection.verdicts));
    selection.order = arena_alloc(&run->arena, (tasks->count + 1) * sizeof(*selection.order));
    selection.tasks = arena_alloc(&run->arena, (selection.wanted + 1) * sizeof(struct task *));
    progress_begin(&context->progress);
    if (gate_others(paired, &work.count, tasks, measuring, err))
        return -1;
    selection.count =
        self_tests_order(selection.order, tasks, paired, work.count, selection.wanted);
    do {
        if (choose_self(&work, &selection, measuring, err) ||
            measure_side_by_side(measuring, &work, err))
            return -1;
        take_self(&self, &selection, &work);
        work.count = 0;
    } while (work.self_count > 0 && selection.tested < selection.wanted);
    progress_end(&context->progress);
    *out = self;
    return 0;
}

// Series of one kernel and problem come after each other, whichever comparison they are of: those
// that are open at once share libraries and references then.
static int by_series(const void *left, const void *right)
{
    const struct task *a = *(const struct task *const *)left;
    const struct task *b = *(const struct task *const *)right;
    char problems[2][PROBLEM_TEXT];
    int order = strcmp(a->result->kernel, b->result->kernel);
    if (order)
        return order;
    problem_format(problems[0], &a->result->problem);
    problem_format(problems[1], &b->result->problem);
    order = strcmp(problems[0], problems[1]);
    return order ? order : a->run->id < b->run->id ? -1 : a->run->id > b->run->id;
}

int compare_measure(const struct task_list *lists, size_t count, struct measuring *measuring,
                    struct error *err)
{
    struct context *context = measuring->context;
    struct gate_work work = {.context = measuring, .done = save_compared};
    size_t most = 0;
    int status = 0;
    for (size_t i = 0; i < count; i++)
        most += lists[i].count;
    struct task **paired = xcalloc(most + 1, sizeof(*paired));
    work.tasks = paired;
    progress_begin(&context->progress);
    for (size_t i = 0; status == 0 && i < count; i++)
        status = gate_others(paired, &work.count, &lists[i], measuring, err);
    if (work.count)
        qsort(paired, work.count, sizeof(struct task *), by_series);
    if (status == 0)
        status = measure_side_by_side(measuring, &work, err);
    progress_end(&context->progress);
    free(paired);
    return status;
}
