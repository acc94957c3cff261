// SPDX-License-Identifier: Apache-2.0
//
// Read this page first. One invocation is one line:
//
//   policy -> commit -> build -> kernel list -> measurement -> prediction -> history -> verdict
//          -> store -> reports
//
// Policy and commits are opened by context.c and the command; builds and kernel lists are built.c;
// the series that follow from them plan.c; the bench child measuring.c, a gate's many series in it
// gate_measure.c and duets.c; predictions, history and verdicts judge.c, the one line of the run
// conclude.c, and what the change itself says that it accepts accepting.c. History is read without
// this run, so a run never judges itself. Each result is stored as soon as it is measured: a run
// that is killed goes on where it was, and measures nothing twice. Reports are written by the
// command, from the same struct run that the store gives back.
#include "ci/gate/pipeline.h"
#include "ci/gate/accepting.h"
#include "ci/gate/built.h"
#include "ci/gate/conclude.h"
#include "ci/gate/gate_measure.h"
#include "ci/gate/judge.h"
#include "ci/gate/pace.h"
#include "model/gate/study.h"

#include <string.h>
#include <time.h>

static void run_begin(struct run *run, enum run_kind kind, const struct context *context,
                      const struct commit *base, const struct commit *head)
{
    memset(run, 0, sizeof(*run));
    run->kind = kind;
    run->started_s = (int64_t)time(NULL);
    run->tool_version = PLUMB_VERSION;
    run->repository = arena_strdup(&run->arena, repository_name(context->repository));
    run->policy = arena_strdup(&run->arena, context->policy.text);
    if (base)
        run->base = *base;
    run->head = *head;
    run->device_count = context->device_count;
    run->devices = arena_alloc(&run->arena, run->device_count * sizeof(*run->devices));
    for (size_t i = 0; i < run->device_count; i++)
        run->devices[i] = context->devices[i].unit;
}

// The store's id for this run: a new one, or that of the same run that was interrupted.
static int run_enter(struct run *run, struct context *context, struct error *err)
{
    int64_t id = 0;
    bool found = false;
    if (context->options->dry_run)
        return 0;
    if (store_find_unfinished(&id, &found, context->store, run, err))
        return -1;
    if (!found)
        return store_begin_run(context->store, run, err);
    run->id = id;
    progress_note(&context->progress, "going on with the run that was interrupted");
    return 0;
}

// ---- measurement ----

// The tasks of a plain run, what they took so far and what those after `next` will.
struct course {
    const struct plan *plan;
    double *sizes;
    struct pace pace;
};

static int course_begin(struct course *out, const struct plan *plan, struct run *run,
                        struct context *context, struct error *err)
{
    *out = (struct course){.plan = plan};
    out->sizes = arena_alloc(&run->arena, plan->count * sizeof(*out->sizes));
    for (size_t i = 0; i < plan->count; i++) {
        if (pace_size(&out->sizes[i], &plan->tasks[i], context, err))
            return -1;
    }
    return 0;
}

static double course_left_s(const struct course *course, size_t next)
{
    double left_s = 0;
    for (size_t i = next; i < course->plan->count; i++)
        left_s += pace_expect(&course->pace, course->sizes[i]);
    return left_s;
}

static int measure_tasks(struct run *run, const struct plan *plan, struct measuring *measuring,
                         int (*measure)(const struct task *, struct run *, struct measuring *,
                                        struct error *),
                         struct error *err)
{
    struct context *context = measuring->context;
    struct course course;
    progress_begin(&context->progress);
    if (course_begin(&course, plan, run, context, err))
        return -1;
    for (size_t i = 0; i < plan->count; i++) {
        const struct task *task = &plan->tasks[i];
        bool known = false;
        progress_left(&context->progress, course_left_s(&course, i));
        task_show(task, context);
        if (run->id && task_resumed(&known, task, run, context, err))
            return -1;
        if (known)
            continue;
        const double begun_s = monotonic_s();
        if (measure(task, run, measuring, err))
            return -1;
        if (run->id && store_save_result(context->store, run, task->result, err))
            return -1;
        if (!task->result->reused)
            pace_add(&course.pace, course.sizes[i], monotonic_s() - begun_s);
    }
    progress_end(&context->progress);
    return 0;
}

// ---- the end of the line ----

// The devices that the policy names and that are not here.
static const char *away_text(struct run *run, const struct context *context)
{
    const char *text = "";
    for (size_t i = 0; i < context->device_count; i++) {
        const struct context_device *device = &context->devices[i];
        if (device->away && !device->is_static)
            text = arena_printf(&run->arena, "%s; nothing was measured on %s, which is not here",
                                text, device->policy->name);
    }
    return text;
}

static int run_leave(struct run *run, struct context *context, const struct built *head,
                     struct error *err)
{
    run->finished_s = (int64_t)time(NULL);
    drop_unsupported(run);
    conclude_run(run, &context->policy.gate, away_text(run, context));
    if (head->state != MEASURED_OK)
        conclude_unbuilt(run, head->detail);
    if (!run->id)
        return 0;
    for (size_t i = 0; i < run->count; i++) {
        if (store_save_result(context->store, run, &run->results[i], err))
            return -1;
    }
    return store_finish_run(context->store, run, err);
}

static void tell_cost(const struct run *run, const struct measuring *measuring, double wall_s)
{
    double kernels_s = 0;
    size_t measured = 0;
    for (size_t i = 0; i < run->count; i++) {
        measured += run->results[i].verdict.pairs > 0;
        kernels_s += run->results[i].verdict.gpu_s;
    }
    if (measured)
        progress_note(&measuring->context->progress,
                      "%zu series side by side in %u %s, %.1f s, of it %.1f s of kernels", measured,
                      measuring->processes, plural(measuring->processes, "process", "processes"),
                      wall_s, kernels_s);
}

int pipeline_gate(struct run *run, struct context *context, const struct commit *base,
                  const struct commit *head, struct error *err)
{
    struct built base_built, head_built;
    struct epoch_list accepted;
    struct plan plan;
    struct measuring measuring = {0};
    int status = -1;
    run_begin(run, RUN_GATE, context, base, head);
    if (judge_ready(context, err) ||
        accepting_read(&accepted, context, base, head, &run->arena, err) ||
        built_make(&base_built, context, base, NULL, &run->arena, err) ||
        built_make(&head_built, context, head, base, &run->arena, err))
        return -1;
    if (base_built.absent || head_built.absent)
        return 0;
    run->unbuilt[ROLE_BASE] = base_built.failure;
    run->unbuilt[ROLE_HEAD] = head_built.failure;
    if (plan_make(&plan, run, context, &base_built, &head_built, err))
        return -1;
    if (context->options->dry_run)
        return 0;
    measuring_begin(&measuring, context, &base_built, &head_built);
    const double begun_s = monotonic_s();
    measuring.deadline_s = begun_s + context->policy.gate.seconds;
    struct gate_self self = {0};
    if (run_enter(run, context, err) || gate_measure(&self, run, &plan, &measuring, err))
        goto done;
    const double wall_s = monotonic_s() - begun_s;
    run->self_test = study_self_test(self.verdicts, self.count, context->policy.gate.alpha);
    if (judge_predict(run, &plan, context, err) || judge_history(run, &plan, context, err) ||
        judge_gate(run, &plan, context, &base_built, &head_built, self.verdicts, self.count, err))
        goto done;
    accepting_apply(run, &accepted, &context->policy.gate);
    tell_cost(run, &measuring, wall_s);
    status = run_leave(run, context, &head_built, err);
done:
    measuring_end(&measuring);
    return status;
}

// The one task of a comparison, and its result.
static int plan_comparison(struct plan *plan, struct run *run, struct context *context,
                           const struct comparison *what, struct error *err)
{
    const char *kind = what->device->policy->kind;
    struct task *task = arena_alloc(&run->arena, sizeof(*task));
    struct result *r = arena_alloc(&run->arena, sizeof(*r));
    *task = (struct task){.result = r,
                          .rule = policy_rule(&context->policy, what->kernel, what->device->policy),
                          .device = what->device,
                          .base = built_find(what->base, what->kernel, kind),
                          .head = built_find(what->head, what->kernel, kind)};
    if (!task->rule || !task->base)
        return error_set(err, "%s: %s", what->kernel,
                         task->rule ? "the commit it is compared with has no such kernel"
                                    : "no section of the policy names this kernel");
    r->problem = *what->problem;
    task_fill(task, context, what->base, what->head);
    *plan = (struct plan){.tasks = task, .count = 1};
    run->results = r;
    run->count = 1;
    return 0;
}

int pipeline_compare(struct run *run, struct context *context, const struct comparison *what,
                     struct error *err)
{
    struct plan plan;
    struct measuring measuring = {0};
    int status = -1;
    run_begin(run, RUN_BISECT, context, &what->base->commit, &what->head->commit);
    if (plan_comparison(&plan, run, context, what, err))
        return -1;
    measuring_begin(&measuring, context, what->base, what->head);
    measuring.deadline_s = monotonic_s() + context->policy.gate.seconds;
    if (run_enter(run, context, err) || gate_measure(NULL, run, &plan, &measuring, err) ||
        judge_predict(run, &plan, context, err) ||
        judge_gate(run, &plan, context, what->base, what->head, NULL, 0, err))
        goto done;
    status = run_leave(run, context, what->head, err);
done:
    measuring_end(&measuring);
    return status;
}

static int solo_task(const struct task *task, struct run *run, struct measuring *measuring,
                     struct error *err)
{
    bool found = false;
    if (task_reuse(&found, task, run, measuring->context, err))
        return -1;
    return found ? 0 : measure_solo(measuring, task, ROLE_HEAD, &run->arena, err);
}

static int solo_again(const struct task *task, struct run *run, struct measuring *measuring,
                      struct error *err)
{
    return measure_solo(measuring, task, ROLE_HEAD, &run->arena, err);
}

int pipeline_measure(struct run *run, struct context *context, const struct commit *head,
                     bool again, struct error *err)
{
    struct built built;
    struct plan plan;
    struct measuring measuring = {0};
    int status = -1;
    run_begin(run, RUN_MEASURE, context, NULL, head);
    if (judge_ready(context, err) || built_make(&built, context, head, NULL, &run->arena, err))
        return -1;
    if (built.absent)
        return 0;
    run->unbuilt[ROLE_HEAD] = built.failure;
    if (plan_make(&plan, run, context, NULL, &built, err))
        return -1;
    if (context->options->dry_run)
        return 0;
    measuring_begin(&measuring, context, NULL, &built);
    if (run_enter(run, context, err) ||
        measure_tasks(run, &plan, &measuring, again ? solo_again : solo_task, err) ||
        judge_predict(run, &plan, context, err) || judge_history(run, &plan, context, err))
        goto done;
    judge_run(run, &plan);
    status = run_leave(run, context, &built, err);
done:
    measuring_end(&measuring);
    return status;
}

static int device_measured(bool *measured, struct context *context, const struct commit *head,
                           const struct context_device *device, const struct policy_kernel *rule,
                           const char *kernel, bool any_driver, struct error *err)
{
    *measured = true;
    for (size_t s = 0; *measured && s < rule->set_count; s++) {
        const struct policy_set *set = policy_set_find(&context->policy, rule->sets[s]);
        const struct demand demand = {.recipe = built_recipe(context),
                                      .device_uuid = device->unit.uuid,
                                      .driver = any_driver ? NULL : device->unit.driver,
                                      .problems = set->problems,
                                      .problem_count = set->count,
                                      .kernels = &kernel,
                                      .kernel_count = 1};
        if (store_commit_measured(measured, context->store, head, &demand, err))
            return -1;
    }
    return 0;
}

// Every series of one kernel is stored for this commit. The record of a build does not say which
// kind of device a kernel is for, so one device that has them all is enough.
static int kernel_measured(bool *measured, struct context *context, const struct commit *head,
                           const char *kernel, bool any_driver, struct error *err)
{
    bool wanted = false, here = false;
    for (size_t s = 0; !here && s < context->device_count; s++) {
        const struct context_device *device = &context->devices[s];
        const struct policy_kernel *rule = policy_rule(&context->policy, kernel, device->policy);
        wanted |= rule != NULL;
        if (rule && device_measured(&here, context, head, device, rule, kernel, any_driver, err))
            return -1;
    }
    *measured = here || !wanted;
    return 0;
}

int pipeline_measured(bool *measured, struct context *context, const struct commit *head,
                      bool any_driver, struct error *err)
{
    struct build_record record;
    struct arena arena = {0};
    bool found = false, all = true;
    int status = store_find_commit_build(&record, &found, context->store, head,
                                         built_recipe(context), &arena, err);
    // A commit that is known not to build has no kernels here, and nothing left to do.
    for (size_t i = 0; status == 0 && found && all && i < record.count; i++)
        status = kernel_measured(&all, context, head, record.kernels[i].name, any_driver, err);
    arena_free(&arena);
    if (status == 0)
        *measured = found && all;
    return status;
}
