// SPDX-License-Identifier: Apache-2.0
//
// From builds, policy and devices to the tasks of a run. Nothing is built or measured here.
#include "ci/gate/task_list.h"

#include <assert.h>
#include <string.h>

struct planning {
    struct task_list *tasks;
    struct run *run;
    struct context *context;
    const struct built *base, *head;
    size_t capacity;
};

static struct task *new_task(struct planning *p)
{
    struct task_list *tasks = p->tasks;
    if (tasks->count == p->capacity) {
        size_t capacity = p->capacity ? p->capacity * 2 : 32;
        struct task *items = arena_alloc(&p->run->arena, capacity * sizeof(*items));
        if (tasks->count)
            memcpy(items, tasks->items, tasks->count * sizeof(*items));
        tasks->items = items;
        p->capacity = capacity;
    }
    return &tasks->items[tasks->count++];
}

// The kernel's problems on one device, from every set its rule names, each once.
static void add_problems(struct planning *p, const struct context_device *device,
                         const struct policy_kernel *rule, const struct built_kernel *base,
                         const struct built_kernel *head)
{
    const size_t first = p->tasks->count;
    for (size_t s = 0; s < rule->set_count; s++) {
        const struct policy_set *set = policy_set_find(&p->context->policy, rule->sets[s]);
        for (size_t i = 0; i < set->count; i++) {
            bool twice = false;
            for (size_t t = first; t < p->tasks->count; t++)
                twice |= problem_equal(&p->tasks->items[t].result->problem, &set->problems[i]);
            if (twice || !context_selects(p->context, NULL, &set->problems[i]))
                continue;
            struct task *task = new_task(p);
            *task = (struct task){.rule = rule, .device = device, .base = base, .head = head};
            task->result = arena_alloc(&p->run->arena, sizeof(*task->result));
            task->result->problem = set->problems[i];
        }
    }
}

// What is known of one side before anything is measured.
static void fill_state(struct measurement *out, const struct built *built,
                       const struct built_kernel *kernel)
{
    if (built && built->state != MEASURED_OK)
        *out = (struct measurement){.state = built->state, .detail = built->detail, .regime = ""};
    else if (built && !kernel)
        *out = (struct measurement){.state = MEASURED_MISSING, .detail = "", .regime = ""};
}

// A task's result before anything is measured: its names, codes and what is known of its states. Of
// the task, result, rule, device and kernels are filled. `base` may be NULL.
static void task_fill(struct task *task, const struct context *context, const struct built *base,
                      const struct built *head)
{
    const struct built_kernel *known = task->head ? task->head : task->base;
    struct result *r = task->result;
    text_copy(r->kernel, sizeof(r->kernel), known->name);
    r->traits = known->traits;
    r->device = (size_t)(task->device - context->devices);
    r->control = task->rule->control;
    if (task->base)
        text_copy(r->base_code, sizeof(r->base_code), task->base->code);
    if (task->head)
        text_copy(r->head_code, sizeof(r->head_code), task->head->code);
    fill_state(&r->base, base, task->base);
    fill_state(&r->head, head, task->head);
}

static void add_kernel(struct planning *p, const struct context_device *device,
                       const struct built_kernel *kernel, bool from_base)
{
    if (strcmp(kernel->device, device->policy->kind) ||
        !context_selects(p->context, kernel->name, NULL))
        return;
    const struct built_kernel *base = NULL, *head = NULL;
    if (p->base)
        base = built_find(p->base, kernel->name, kernel->device);
    head = built_find(p->head, kernel->name, kernel->device);
    if (from_base && head)
        return; // planned when the head's kernels were
    const struct policy_kernel *rule =
        policy_rule(&p->context->policy, kernel->name, device->policy);
    if (rule)
        add_problems(p, device, rule, base, head);
}

// Results become one array, as reports and the store want them.
static void settle(struct planning *p)
{
    struct run *run = p->run;
    struct task *tasks = p->tasks->items;
    const size_t count = p->tasks->count;
    assert(count == 0 || tasks);
    run->count = count;
    run->results = arena_alloc(&run->arena, count * sizeof(*run->results));
    for (size_t i = 0; i < count; i++) {
        run->results[i].problem = tasks[i].result->problem;
        tasks[i].run = run;
        tasks[i].result = &run->results[i];
        task_fill(&tasks[i], p->context, p->base, p->head);
    }
}

bool task_list_names(const struct context *context, const struct built_kernel *kernel)
{
    const struct policy *policy = &context->policy;
    bool named = policy_skips(policy, kernel->name);
    for (size_t i = 0; !named && i < policy->device_count; i++)
        named = strcmp(policy->devices[i].kind, kernel->device) == 0 &&
                policy_rule(policy, kernel->name, &policy->devices[i]);
    return named;
}

static size_t count_unnamed(const struct context *context, const struct built *built)
{
    size_t count = 0;
    for (size_t i = 0; i < built->count; i++)
        count += !task_list_names(context, &built->kernels[i]);
    return count;
}

int task_list_make(struct task_list *out, struct run *run, struct context *context,
                   const struct built *base, const struct built *head, struct error *err)
{
    struct task_list tasks = {0};
    struct planning p = {
        .tasks = &tasks, .run = run, .context = context, .base = base, .head = head};
    const size_t unnamed = count_unnamed(context, head);
    for (size_t s = 0; s < context->device_count; s++) {
        const struct context_device *device = &context->devices[s];
        if (context_first_unit(context, device) != device)
            continue;
        for (size_t i = 0; i < head->count; i++)
            add_kernel(&p, device, &head->kernels[i], false);
        for (size_t i = 0; base && head->state == MEASURED_OK && i < base->count; i++)
            add_kernel(&p, device, &base->kernels[i], true);
    }
    if (unnamed)
        progress_note(&context->progress, "%zu %s named by no section of %s", unnamed,
                      plural(unnamed, "kernel is", "kernels are"), context->policy.label);
    bool built = head->state == MEASURED_OK && (!base || base->state == MEASURED_OK);
    if (!tasks.count && built)
        return error_set(
            err, "%s: nothing to measure: no kernel of %.10s matches a [kernel] section%s",
            context->policy.label, head->commit.id, context_selection(context, &run->arena));
    settle(&p);
    *out = tasks;
    return 0;
}

static int fill_compared(struct task *task, struct run *run, struct context *context,
                         const struct comparison *what, size_t i, struct error *err)
{
    const struct compared *series = &what->series[i];
    struct result *r = &run->results[i];
    const char *kind = series->device->policy->kind;
    *task =
        (struct task){.run = run,
                      .result = r,
                      .rule = policy_rule(&context->policy, series->kernel, series->device->policy),
                      .device = series->device,
                      .base = built_find(what->base, series->kernel, kind),
                      .head = built_find(what->head, series->kernel, kind),
                      .use = series->use};
    if (!task->rule || !task->base)
        return error_set(err, "%s: %s", series->kernel,
                         task->rule ? "the commit it is compared with has no such kernel"
                                    : "no section of the policy names this kernel");
    r->problem = *series->problem;
    task_fill(task, context, what->base, what->head);
    return 0;
}

int task_list_of_comparison(struct task_list *tasks, struct run *run, struct context *context,
                            const struct comparison *what, struct error *err)
{
    tasks->items = arena_alloc(&run->arena, what->count * sizeof(*tasks->items));
    tasks->count = run->count = what->count;
    run->results = arena_alloc(&run->arena, what->count * sizeof(*run->results));
    for (size_t i = 0; i < what->count; i++) {
        if (fill_compared(&tasks->items[i], run, context, what, i, err))
            return -1;
    }
    return 0;
}
