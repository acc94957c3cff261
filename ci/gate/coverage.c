// SPDX-License-Identifier: Apache-2.0
//
// Lists the tasks of a plain run and asks of each whether its kernel can do it. It measures
// nothing; what it complains of is for a person to mend in the policy.
#include "ci/gate/coverage.h"

#include "runner/code/plan_file.h"

#include <string.h>

struct covering {
    struct coverage *out;
    struct run *run;
    struct context *context;
    const struct built *built;
    size_t capacity;
};

static void complain(struct covering *c, const char *text)
{
    struct coverage *out = c->out;
    if (out->complaint_count == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 16;
        const char **grown = arena_alloc(&c->run->arena, c->capacity * sizeof(*grown));
        for (size_t i = 0; i < out->complaint_count; i++)
            grown[i] = out->complaints[i];
        out->complaints = grown;
    }
    out->complaints[out->complaint_count++] = text;
}

// ---- what each kernel can do ----

static int ask_plan(bool *out, const struct task *task, struct error *err)
{
    const int64_t sms = (int64_t)task->device->gpu.sm_count.value;
    struct plan_file file;
    if (plan_file_open(&file, task->head->library, err))
        return -1;
    const int status = plan_supports(out, &file.plan, &task->result->problem, sms, err);
    plan_file_close(&file);
    return status;
}

static int ask(bool *out, struct bench *bench, const struct task *task, struct error *err)
{
    struct bench_outcome outcome;
    const struct built_kernel *kernel = task->head;
    bool yes = false;
    if (kernel->plan)
        return ask_plan(out, task, err);
    if (bench_supports(&outcome, &yes, bench, kernel->library, kernel->name, &task->result->problem,
                       err))
        return -1;
    if (outcome.state != MEASURED_OK)
        return error_set(err, "%s: supports() cannot be asked: %.200s", kernel->name,
                         outcome.detail);
    *out = yes;
    return 0;
}

static int ask_all(struct covering *c, struct error *err)
{
    const struct task_list *tasks = &c->out->tasks;
    struct bench *bench = NULL;
    bool *supports = arena_alloc(&c->run->arena, tasks->count * sizeof(*supports));
    int status = context_lister(&bench, c->context, &c->built->directory, 1, err);
    for (size_t i = 0; status == 0 && i < tasks->count; i++)
        status = ask(&supports[i], bench, &tasks->items[i], err);
    bench_stop(bench);
    c->out->supports = supports;
    return status;
}

// ---- what is missing ----

static void find_unnamed(struct covering *c)
{
    for (size_t i = 0; i < c->built->count; i++) {
        const struct built_kernel *kernel = &c->built->kernels[i];
        if (!task_list_names(c->context, kernel))
            complain(c, arena_printf(&c->run->arena, "kernel %s (%s): no section names it",
                                     kernel->name, kernel->device));
    }
}

static void find_idle(struct covering *c)
{
    const struct task_list *tasks = &c->out->tasks;
    for (size_t i = 0; i < c->built->count; i++) {
        const struct built_kernel *kernel = &c->built->kernels[i];
        size_t asked = 0, can = 0;
        for (size_t t = 0; t < tasks->count; t++) {
            asked += tasks->items[t].head == kernel;
            can += tasks->items[t].head == kernel && c->out->supports[t];
        }
        if (asked && !can)
            complain(c, arena_printf(&c->run->arena, "kernel %s (%s): does none of its %zu %s",
                                     kernel->name, kernel->device, asked,
                                     plural(asked, "problem", "problems")));
    }
}

static bool holds(const struct policy_kernel *rule, const struct policy_set *set)
{
    bool found = false;
    for (size_t i = 0; i < rule->set_count; i++)
        found |= strcmp(rule->sets[i], set->name) == 0;
    return found;
}

// A set that no series comes from may be for devices that were not asked for.
static bool done_by_none(const struct covering *c, const struct policy_set *set,
                         const struct problem *problem)
{
    const struct task_list *tasks = &c->out->tasks;
    size_t asked = 0;
    for (size_t t = 0; t < tasks->count; t++) {
        const struct task *task = &tasks->items[t];
        if (!holds(task->rule, set) || !problem_equal(&task->result->problem, problem))
            continue;
        asked++;
        if (c->out->supports[t])
            return false;
    }
    return asked || c->context->device_count == c->context->policy.device_count;
}

static void find_undone(struct covering *c)
{
    const struct policy *policy = &c->context->policy;
    for (size_t s = 0; s < policy->set_count; s++) {
        const struct policy_set *set = &policy->sets[s];
        for (size_t i = 0; i < set->count; i++) {
            char problem[PROBLEM_TEXT];
            if (!done_by_none(c, set, &set->problems[i]))
                continue;
            problem_format(problem, &set->problems[i]);
            complain(c, arena_printf(&c->run->arena, "[problems \"%s\"] %s: no kernel does it",
                                     set->name, problem));
        }
    }
}

int coverage_find(struct coverage *out, struct run *run, struct context *context,
                  const struct built *built, struct error *err)
{
    struct coverage coverage = {0};
    struct covering c = {.out = &coverage, .run = run, .context = context, .built = built};
    memset(run, 0, sizeof(*run));
    if (task_list_make(&coverage.tasks, run, context, NULL, built, err) || ask_all(&c, err))
        return -1;
    find_unnamed(&c);
    find_idle(&c);
    find_undone(&c);
    *out = coverage;
    return 0;
}
