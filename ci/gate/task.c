// SPDX-License-Identifier: Apache-2.0
//
// What the store knows of a task: its results in a run that was interrupted, measurements of the
// same code, and codes that crash or hang.
#include "ci/gate/task.h"
#include "ci/gate/linking.h"

#include <string.h>

bool task_is_paired(const struct task *task)
{
    return task->base && task->head && !task->device->away &&
           strcmp(task->base->code, task->head->code) != 0;
}

void task_show(const struct task *task, struct context *context)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &task->result->problem);
    progress_step(&context->progress, "%s %s", task->result->kernel, problem);
}

// How many units may have measured what is planned for `device`.
static size_t units_of(const struct context_device *device)
{
    return device->units ? device->units : 1;
}

int task_resumed(bool *found, struct task *task, struct context *context, struct error *err)
{
    struct run *run = task->run;
    struct result *r = task->result, stored;
    const struct context_device *first = task->device;
    *found = false;
    for (size_t i = 0; !*found && i < units_of(first); i++) {
        const struct series series = {r->kernel, &r->problem, first[i].unit.uuid};
        if (store_find_result(&stored, found, context->store, run->id, &series, &run->arena, err))
            return -1;
        if (*found)
            task->device = &first[i];
    }
    if (*found) {
        r->device = (size_t)(task->device - context->devices);
        if (stored.base.state != MEASURED_NOT_TAKEN)
            r->base = stored.base;
        if (stored.head.state != MEASURED_NOT_TAKEN)
            r->head = stored.head;
        r->reused = stored.reused;
    }
    return 0;
}

const char *task_failure_regime(struct context *context)
{
    return arena_printf(&context->arena, "cold, back to back; its own failure, limit %.6g s",
                        context->policy.timeout_s);
}

static bool failed(const struct measurement *m)
{
    return m->state == MEASURED_CRASHED || m->state == MEASURED_TIMEOUT;
}

// For the sentence of this run; what is stored stays as it was measured.
static void tell_known(struct measurement *m, struct arena *arena)
{
    m->detail = arena_printf(arena, "%s; known from before and not tried, `plumb run --again` does",
                             m->detail);
}

// Of times alone a history knows a code that came back, as by a revert, only if it is measured
// again there.
static int came_back(bool *out, const struct task *task, struct context *context, struct error *err)
{
    struct run *run = task->run;
    const struct result *r = task->result;
    const struct series series = {r->kernel, &r->problem, task->device->unit.uuid};
    const struct history_query query = {.limit = 1,
                                        .except_run = run->id,
                                        .until = run->head.id,
                                        .toolchain = run->toolchain[ROLE_HEAD]};
    struct stored_points newest;
    *out = false;
    if (run->kind != RUN_MEASURE || linking_links(task->device, context))
        return 0;
    if (store_points(&newest, context->store, &series, &query, &run->arena, err))
        return -1;
    *out = newest.count && strcmp(newest.newest_code, r->head_code) != 0;
    return 0;
}

int task_reuse(bool *found, const struct task *task, struct context *context, struct error *err)
{
    struct arena *arena = &task->run->arena;
    struct result *r = task->result;
    const struct series series = {r->kernel, &r->problem, task->device->unit.uuid};
    const struct measured_how how = {.plain = true,
                                     .driver = task->device->unit.driver,
                                     .failure = task_failure_regime(context)};
    bool again = false;
    if (store_find_measurement(&r->head, found, context->store, &series, r->head_code, &how, arena,
                               err) ||
        (*found && r->head.state == MEASURED_OK && came_back(&again, task, context, err)))
        return -1;
    if (again) {
        r->head = (struct measurement){0};
        *found = false;
    }
    r->reused = *found;
    if (*found && failed(&r->head))
        tell_known(&r->head, arena);
    return 0;
}

static int known_to_fail(bool *out, struct measurement *side, const char *code,
                         const struct task *task, struct context *context, struct error *err)
{
    const struct result *r = task->result;
    const struct measured_how how = {.driver = task->device->unit.driver,
                                     .failure = task_failure_regime(context)};
    *out = false;
    for (size_t i = 0; !*out && i < units_of(task->device); i++) {
        const struct series series = {r->kernel, &r->problem, task->device[i].unit.uuid};
        struct measurement known;
        bool found = false;
        if (store_find_measurement(&known, &found, context->store, &series, code, &how,
                                   &task->run->arena, err))
            return -1;
        *out = found && failed(&known);
        if (*out)
            *side = known;
    }
    return 0;
}

int task_known_to_fail(struct task_failure *out, const struct task *task, struct context *context,
                       struct error *err)
{
    struct result *r = task->result;
    struct task_failure failure = {0};
    if (known_to_fail(&failure.head, &r->head, r->head_code, task, context, err))
        return -1;
    if (known_to_fail(&failure.base, &r->base, r->base_code, task, context, err))
        return -1;
    if (failure.head)
        tell_known(&r->head, &task->run->arena);
    *out = failure;
    return 0;
}
