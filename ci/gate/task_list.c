// SPDX-License-Identifier: Apache-2.0
//
// Makes the tasks of a run from builds, policy and devices, and finds what is known of each: its
// stored results, the numbers by which it is judged, and whether a self test may take it. Nothing
// is built or measured here.
#include "ci/gate/task_list.h"

#include "ci/gate/built.h"
#include "ci/gate/linking.h"
#include "model/gate/gate.h"
#include "model/history/levels.h"
#include "runner/code/plan_file.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- one task ----
//
// Finds what the store knows of a task: its result in an interrupted run, measurements of the same
// code, and codes that crash or hang.

bool task_is_recorded(const struct task *task)
{
    const bool plan = (task->base && task->base->plan) || (task->head && task->head->plan);
    return (task->rule->device_code || plan) && strcmp(task->device->policy->kind, "cuda") == 0;
}

bool task_is_paired(const struct task *task)
{
    return task->base && task->head && !task->device->away &&
           strcmp(task->base->code, task->head->code) != 0;
}

// The number of units on which series that are planned for `device` may have been measured.
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

// Changes the detail for this run's sentence; the stored measurement stays as it is.
static void tell_known(struct measurement *m, struct arena *arena)
{
    m->detail = arena_printf(arena, "%s; known from before and not tried, `plumb run --again` does",
                             m->detail);
}

// Whether a code came back, as by a revert. A history of times knows that only if the code is
// measured again there. A measurement on another branch counts as known.
static int came_back(bool *out, const struct task *task, struct context *context, struct error *err)
{
    const struct result *r = task->result;
    const struct series series = {r->kernel, &r->problem, task->device->unit.uuid};
    enum { LOOKED_AT = 1000 };
    struct line_past past = {0};
    const bool asks = task->run->kind == RUN_MEASURE && !context_links(context, task->device);
    if (asks && line_past(&past, task->run, r, &series, LOOKED_AT, context, err))
        return -1;
    *out = past.returned;
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

int task_launched(bool *found, const struct task *task, struct context *context, struct error *err)
{
    struct result *r = task->result;
    const struct measured_how how = {.failure = task_failure_regime(context)};
    *found = false;
    for (size_t i = 0; !*found && i < REGIMES * units_of(task->device); i++) {
        const enum regime regime = (enum regime)(i % REGIMES);
        const struct problem problem = problem_in(&r->problem, regime);
        const struct series series = {r->kernel, &problem, task->device[i / REGIMES].unit.uuid};
        struct measurement known;
        if (store_find_measurement(&known, found, context->store, &series, r->head_code, &how,
                                   &task->run->arena, err))
            return -1;
        // Code whose results were correct in one regime computes the same in every other.
        *found &= regime == r->problem.regime || known.state == MEASURED_OK;
        if (*found && known.state != MEASURED_OK)
            r->head = known;
    }
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

// ---- the policy of one task ----
//
// The gate's numbers for one task: defaults, the policy's, and the scatter that earlier runs saw in
// the series.

int task_policy(struct gate_policy *out, struct context *context, const struct task *task,
                const struct sample *base, size_t count, struct error *err)
{
    const struct policy_gate gate = policy_gate_for(&context->policy, task->rule);
    const struct context_device *device = task->device;
    const struct problem *problem = &task->result->problem;
    struct gate_policy policy =
        gate_policy_default(device->policy->kind, gate_size_ns(base, count, problem, &device->gpu));
    if (task_is_recorded(task))
        gate_policy_records(&policy);
    policy.regime = problem->regime;
    policy.alpha = gate.alpha;
    policy.processes = gate.processes;
    policy.max_pairs = gate.max_pairs;
    if (gate.margin > 0) {
        policy.floor *= gate.margin / policy.margin;
        policy.margin = gate.margin;
    }
    const struct series series = {task->result->kernel, problem, device->unit.uuid};
    struct pair_scale *stored = NULL;
    size_t runs = 0;
    if (store_scale(&stored, &runs, context->store, &series, 8, task->run->id, &task->run->arena,
                    err))
        return -1;
    double sum = 0, pairs = 0;
    for (size_t i = 0; i < runs; i++) {
        if (stored[i].sd_mad > 0 && stored[i].pairs >= 8) {
            sum += log(stored[i].sd_mad) * stored[i].pairs;
            pairs += stored[i].pairs;
        }
    }
    if (pairs > 0)
        gate_policy_learn(&policy, (struct moderation){0, 0}, exp(sum / pairs), pairs);
    gate_policy_use(&policy, task->use, levels_prior.sd);
    *out = policy;
    return 0;
}

// ---- the tasks of a run ----

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

static bool is_planned(const struct planning *p, size_t first, const struct problem *problem)
{
    for (size_t t = first; t < p->tasks->count; t++) {
        if (problem_equal(&p->tasks->items[t].result->problem, problem))
            return true;
    }
    return false;
}

// Whether a problem is the kernel's. A capture has one problem, in any regime.
static bool is_of(const struct built_kernel *kernel, const struct problem *problem)
{
    const struct problem work = problem_in(problem, REGIME_COLD);
    return kernel && (!kernel->captured || problem_equal(kernel->captured, &work));
}

// Adds a task for each of the kernel's problems on one device: those of every set that its rule
// names, in each of its regimes. Without a device one regime is enough, because the compiler's
// report is the same for all.
static void add_problems(struct planning *p, const struct context_device *device,
                         const struct policy_kernel *rule, const struct built_kernel *base,
                         const struct built_kernel *head)
{
    const size_t first = p->tasks->count;
    for (size_t s = 0; s < rule->set_count; s++) {
        const struct policy_set *set = policy_set_find(&p->context->policy, rule->sets[s]);
        for (size_t i = 0; i < set->count; i++) {
            enum regime regimes[REGIMES];
            const size_t count = policy_regimes(regimes, &p->context->policy, device->policy->kind,
                                                rule, set, &set->problems[i]);
            for (size_t n = 0; n < (device->is_static ? 1 : count); n++) {
                const struct problem problem = problem_in(&set->problems[i], regimes[n]);
                const bool old = is_of(base, &problem), new = is_of(head, &problem);
                if ((!old && !new) || is_planned(p, first, &problem) ||
                    !context_selects(p->context, NULL, &problem))
                    continue;
                struct task *task = new_task(p);
                *task = (struct task){.rule = rule,
                                      .device = device,
                                      .base = old ? base : NULL,
                                      .head = new ? head : NULL};
                task->result = arena_alloc(&p->run->arena, sizeof(*task->result));
                task->result->problem = problem;
            }
        }
    }
}

// Fills in the state of one side (base or head) before anything is measured.
static void fill_state(struct measurement *out, const struct built *built,
                       const struct built_kernel *kernel)
{
    if (built && !kernel && built->state != MEASURED_OK)
        *out = (struct measurement){.state = built->state, .detail = built->detail, .regime = ""};
    else if (built && !kernel)
        *out = (struct measurement){.state = MEASURED_MISSING, .detail = "", .regime = ""};
}

// Fills in a task's result before anything is measured: its names, codes and known states. The
// task's result, rule, device and kernels must be set. `base` may be NULL.
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
        return; // it was planned with the head's kernels
    const struct policy_kernel *rule =
        policy_rule(&p->context->policy, kernel->name, device->policy);
    if (rule)
        add_problems(p, device, rule, base, head);
}

// Puts all results into one array, as reports and the store need them.
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

// Whether the policy has a section for the kernel on some device of its kind, or leaves it out on
// purpose.
static bool task_list_names(const struct context *context, const struct built_kernel *kernel)
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
        const bool some = head->state == MEASURED_OK || head->count;
        for (size_t i = 0; base && some && i < base->count; i++)
            add_kernel(&p, device, &base->kernels[i], true);
    }
    if (unnamed)
        progress_note(&context->progress, "%zu %s named by no section of %s", unnamed,
                      plural(unnamed, "kernel is", "kernels are"), context->policy.label);
    bool built = head->state == MEASURED_OK && (!base || base->state == MEASURED_OK);
    if (!tasks.count && built && !head->count && context->policy.capture_count)
        return error_set(err,
                         "%s: nothing to measure here: its kernels are captured, and that takes a "
                         "GPU of the policy",
                         context->policy.label);
    if (!tasks.count && built)
        return error_set(
            err,
            "%s: nothing to measure: no kernel of %.10s matches a [kernel] section%s; `plumb list "
            "kernels` says which there are",
            context->policy.label, head->commit.id, context_selection(context, &run->arena));
    settle(&p);
    *out = tasks;
    return 0;
}

static int fill_compared(struct task *task, struct run *run, struct context *context,
                         const struct commit_comparison *what, size_t i, struct error *err)
{
    const struct compared_series *series = &what->series[i];
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
                            const struct commit_comparison *what, struct error *err)
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

// ---- self tests ----
//
// The order in which series are chosen for a gate's test of itself.

// The reference of a problem that is not plain reads its operands element by element.
static const double form_factor = 8;

enum sample_role self_tests_role(const struct task *task)
{
    return task->base ? ROLE_BASE : ROLE_HEAD;
}

// Adds tasks in strides, so that the first few come from all parts of the list.
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

// Whether a verdict depends on pairs measured on this device.
static bool has_pairs(const struct task_list *tasks, const struct context_device *device)
{
    for (size_t i = 0; i < tasks->count; i++) {
        if (tasks->items[i].device->policy == device->policy && task_is_paired(&tasks->items[i]))
            return true;
    }
    return false;
}

// The cost of a task's reference, in operations of a plain one. For a kernel that is no GEMM only
// its library knows it.
static double cost(const struct task *task)
{
    const struct problem *problem = &task->result->problem;
    if (problem->number_count)
        return INFINITY;
    return problem_flops(problem) * (problem_is_plain(problem) ? 1 : form_factor);
}

// Sorts by cost. A pair that is not compared now has failed before, or is known from an interrupted
// run, so it comes last.
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

// ---- what would not be measured ----
//
// Lists the tasks of a plain run and asks for each whether its kernel supports the problem. It
// measures nothing; a person corrects the policy by its complaints.

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

// ---- what each kernel supports ----

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
    if (kernel->captured) {
        *out = is_of(kernel, &task->result->problem);
        return 0;
    }
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
    int status = context_lister(&bench, c->context, c->built->directories, 1, err);
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

// Whether no kernel supports a set's problem. A set without any series may be for devices that were
// not asked for.
static bool done_by_none(const struct covering *c, const struct policy_set *set,
                         const struct problem *problem)
{
    const struct task_list *tasks = &c->out->tasks;
    size_t asked = 0;
    for (size_t t = 0; t < tasks->count; t++) {
        const struct task *task = &tasks->items[t];
        const struct problem asked_for = problem_in(&task->result->problem, problem->regime);
        if (!holds(task->rule, set) || !problem_equal(&asked_for, problem))
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
