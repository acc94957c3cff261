// SPDX-License-Identifier: Apache-2.0
//
// Read this page first. One invocation is one line:
//
//   policy -> commit -> build -> kernel list -> measurement -> prediction -> history -> verdict
//          -> store -> reports
//
// Each stage of the line is in a file:
//   policy, commit    ../settings/context.c and the command, before this page
//   build             built.c
//   kernel list       built.c, too; task_list.c makes the tasks that follow from it
//   measurement       measuring.c measures the series of a plain run one by one, and those of a
//   gate
//                     side by side; duets.c plays their pairs
//   prediction, history, verdict
//                     judge.c. explain.c says why; linking.c finds what the change itself accepts;
//                     mixes.c computes what it costs a mix of problems; metrics.c compares the
//                     figures beside time; conclude.c makes the last line
//   store             conclude.c begins and ends a run; results are stored as they are measured
//   reports           the command, from the same struct run that the store gives back
//
// Two things happen beside the line. New codes of plain runs are paired with those before them:
// linking.c decides with which, and pipeline_link.c measures them. And a gate may be measured in
// parts on many machines (part.c).
//
// History is read without this run, so a run never judges itself. Each result is stored as soon as
// it is measured: a run that is killed goes on where it was, and measures nothing twice.
#include "ci/gate/pipeline.h"
#include "ci/gate/built.h"
#include "ci/gate/conclude.h"
#include "ci/gate/explain.h"
#include "ci/gate/judge.h"
#include "ci/gate/linking.h"
#include "ci/gate/measuring.h"
#include "ci/gate/mixes.h"
#include "ci/gate/part.h"
#include "model/gate/gate.h"

#include <string.h>

// Judges mixes, metrics and the run as a whole, once every series has its verdict.
static int gate_conclude(struct run *run, struct context *context, const struct built *head,
                         const struct epoch_list *accepted, const struct joined *joined,
                         struct error *err)
{
    release_alarms(run);
    accepting_apply(run, accepted, &context->policy.gate);
    mixes_find(run, &context->policy);
    metrics_accept(run, accepted);
    if (run_leave(run, context, head, joined, err))
        return -1;
    return run->id ? linking_save(context, run, NULL, err) : 0;
}

static bool same_build(const struct to_build *a, const struct to_build *b)
{
    return strcmp(a->commit->id, b->commit->id) == 0 && a->toolchain == b->toolchain;
}

// Tells how many seconds of device and wall clock the measuring took.
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

static const struct device *device_of(const struct run *run, const char *uuid)
{
    for (size_t i = 0; i < run->device_count; i++) {
        if (strcmp(run->devices[i].uuid, uuid) == 0)
            return &run->devices[i];
    }
    return NULL;
}

// Says that the series of a GPU were measured cold before, if the policy names no regime. This is
// said until the store has a series in a stream.
static int tell_epoch(struct run *run, struct context *context, struct error *err)
{
    struct series_entry *series;
    size_t count, of[REGIMES] = {0};
    if (context->policy.gate.regimes)
        return 0;
    if (store_list_series(&series, &count, context->store, &run->arena, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct device *device = device_of(run, series[i].device_uuid);
        of[series[i].problem.regime] += device && strcmp(device->kind, "cuda") == 0;
    }
    if (of[REGIME_COLD] && !of[regime_usual("cuda")])
        progress_note(&context->progress,
                      "this GPU's %zu series in the store are cold: where the policy names no "
                      "regime, it is measured in a stream now, and these are series of their own; "
                      "`regime = cold` in [gate] goes on with the old",
                      of[REGIME_COLD]);
    return 0;
}

int pipeline_gate(struct run *run, struct context *context, const struct to_build *base,
                  const struct to_build *head, const struct work_part *part, struct error *err)
{
    struct built base_built, head_built;
    struct epoch_list accepted;
    struct task_list tasks;
    struct measuring measuring = {0};
    int status = -1;
    run_begin(run, RUN_GATE, context, base->commit, head->commit);
    if (predicting_ready(context, err) ||
        accepting_read(&accepted, context, base->commit, head->commit, &run->arena, err) ||
        built_make(&base_built, context, base, &run->arena, err) ||
        built_make(&head_built, context, head, &run->arena, err))
        return -1;
    built_tell(run, &base_built, &head_built);
    if (base_built.absent || head_built.absent)
        return 0;
    if (!same_build(base, head)) // otherwise it is printed once
        run->unbuilt[ROLE_BASE] = base_built.failure;
    run->unbuilt[ROLE_HEAD] = head_built.failure;
    if (task_list_make(&tasks, run, context, &base_built, &head_built, err))
        return -1;
    mixes_note(run, &accepted);
    part_take(&tasks, run, part);
    if (context->options->dry_run)
        return 0;
    measuring_begin(&measuring, context, (const struct built *const[]){&base_built, &head_built},
                    2);
    measuring.explaining = explaining_begin(&tasks, context, &base_built, &head_built);
    const double begun_s = monotonic_s();
    measuring.deadline_s = begun_s + context->policy.gate.seconds;
    struct gate_self self = {0};
    if (tell_epoch(run, context, err) || run_enter(run, context, err) ||
        gate_measure(&self, run, &tasks, &measuring, err))
        goto done;
    const double wall_s = monotonic_s() - begun_s;
    run->self_test = study_self_test(self.verdicts, self.count, context->policy.gate.alpha);
    if (predicting_fill(run, &tasks, context, err) || judge_history(run, context, err) ||
        judge_gate(run, &tasks, context, &base_built, &head_built, self.verdicts, self.count, err))
        goto done;
    explain_alarms(measuring.explaining, run, &tasks);
    tell_cost(run, &measuring, wall_s);
    const struct to_build *const to[] = {base, head};
    if (metrics_find(run, context, &base_built, &head_built, to, part, err))
        goto done;
    status = part->count ? run_leave_part(run, context, part, err)
                         : gate_conclude(run, context, &head_built, &accepted, NULL, err);
done:
    explaining_end(measuring.explaining);
    measuring_end(&measuring);
    return status;
}

// Concludes a joined gate. It is saved once and as one transaction, because parts can be joined
// again after a kill. A gate with missing parts is printed and not saved, because it will be joined
// again when they are there.
static int join_conclude(struct run *run, struct context *context, const struct built *head,
                         const struct epoch_list *accepted, const struct joined *joined,
                         struct error *err)
{
    const bool kept = !joined->missing[0] && !joined->stored && !context->options->dry_run;
    if (!kept)
        return gate_conclude(run, context, head, accepted, joined, err);
    if (store_begin_batch(context->store, err))
        return -1;
    if (store_begin_run(context->store, run, err) ||
        gate_conclude(run, context, head, accepted, joined, err)) {
        store_cancel_batch(context->store);
        return -1;
    }
    return store_commit_batch(context->store, err);
}

int pipeline_join(struct run *run, struct context *context, const struct commit *base,
                  const struct commit *head, const char *const toolchains[2], const char *path,
                  struct error *err)
{
    struct epoch_list accepted;
    struct joined joined;
    struct built built = {.commit = *head, .state = MEASURED_OK};
    run_begin(run, RUN_GATE, context, base, head);
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        const char *name = toolchains[role];
        run->toolchain[role] = name && strcmp(name, TOOLCHAIN_DEFAULT) != 0 ? name : NULL;
    }
    if (accepting_read(&accepted, context, base, head, &run->arena, err) ||
        joining_read(&joined, run, context, path, err) || judge_history(run, context, err))
        return -1;
    const struct build_failure *failure = &run->unbuilt[ROLE_HEAD];
    if (failure->reason) {
        built.state = MEASURED_UNBUILDABLE;
        built.detail = built_first_error(failure, &run->arena);
    }
    return join_conclude(run, context, &built, &accepted, &joined, err);
}

// Finds which series of a run are known, and which of these would be compared by pairs.
static int plan_measure(struct measured *m, struct context *context, enum anew anew,
                        struct error *err)
{
    struct run *run = &m->run;
    struct linking linking;
    bool found;
    for (size_t i = 0; i < m->tasks.count; i++) {
        const struct task *task = &m->tasks.items[i];
        if (!anew_wanted(anew, run, task->result) && task_reuse(&found, task, context, err))
            return -1;
    }
    if (judge_history(run, context, err) || linking_plan(&linking, run, false, context, err))
        return -1;
    m->compared = arena_alloc(&run->arena, (run->count + 1) * sizeof(*m->compared));
    for (size_t i = 0; i < run->count; i++) {
        const struct problem *problem = &run->results[i].problem;
        for (size_t g = 0; g < linking.count; g++) {
            for (size_t k = 0; k < linking.groups[g].count; k++)
                m->compared[i] |= linking.groups[g].series[k].problem == problem;
        }
    }
    return 0;
}

int pipeline_measure(struct measured *out, struct context *context, const struct to_build *head,
                     enum anew anew, struct error *err)
{
    struct run *run = &out->run;
    const struct built *built = &out->built;
    struct measuring measuring = {0};
    run_begin(run, RUN_MEASURE, context, NULL, head->commit);
    if (predicting_ready(context, err) || built_make(&out->built, context, head, &run->arena, err))
        return -1;
    built_tell(run, NULL, built);
    if (built->absent)
        return 0;
    run->unbuilt[ROLE_HEAD] = built->failure;
    if (task_list_make(&out->tasks, run, context, NULL, built, err))
        return -1;
    if (context->options->dry_run)
        return plan_measure(out, context, anew, err);
    measuring_begin(&measuring, context, &built, 1);
    int status = tell_epoch(run, context, err) ? -1 : run_enter(run, context, err);
    if (status == 0)
        status = solo_measure(run, &out->tasks, &measuring, anew, err);
    measuring_leave(&measuring);
    // Such a commit needs no links, and is known by its build from now on; nothing later would end
    // its run.
    if (status == 0 && built->state != MEASURED_OK)
        status = pipeline_judge(out, context, err);
    return status;
}

int pipeline_judge(struct measured *measured, struct context *context, struct error *err)
{
    struct run *run = &measured->run;
    if (run->finished_s)
        return 0;
    if (predicting_fill(run, &measured->tasks, context, err) || judge_history(run, context, err))
        return -1;
    const struct to_build head = {.commit = &measured->built.commit,
                                  .toolchain = measured->built.toolchain};
    const struct to_build *const to[] = {NULL, &head};
    if (judge_run(run, &measured->tasks, context, err) ||
        metrics_find(run, context, NULL, &measured->built, to, NULL, err))
        return -1;
    return run_leave(run, context, &measured->built, NULL, err);
}
