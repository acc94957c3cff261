// SPDX-License-Identifier: Apache-2.0
//
// Comparisons of series of two commits, many in the same processes: one costs a fifth of a second
// on a GPU before its first launch, and a backfill of 20 codes owes its history some 50
// comparisons. Why a series changed is not asked here, which takes longer than to see that it did;
// a gate says.
#include "ci/gate/gate_measure.h"
#include "ci/gate/judge.h"
#include "ci/gate/linking.h"
#include "ci/gate/pipeline.h"
#include "ci/gate/predicting.h"
#include "ci/gate/release.h"
#include "ci/gate/run_frame.h"

#include <stdlib.h>

static void show_builds(struct measuring *measuring, struct context *context,
                        const struct comparison *what, size_t count)
{
    const struct built **builds = xcalloc(2 * count, sizeof(*builds));
    for (size_t i = 0; i < count; i++) {
        builds[2 * i] = what[i].base;
        builds[2 * i + 1] = what[i].head;
    }
    measuring_begin(measuring, context, builds, 2 * count);
    free(builds);
}

static int finish(struct run *run, const struct task_list *tasks, struct context *context,
                  const struct comparison *what, struct error *err)
{
    if (predicting_fill(run, tasks, context, err) ||
        judge_gate(run, tasks, context, what->base, what->head, NULL, 0, err))
        return -1;
    release_alarms(run);
    return run_leave(run, context, what->head, NULL, err) || linking_save(context, run, what, err)
               ? -1
               : 0;
}

int pipeline_compare(struct run *runs, struct context *context, const struct comparison *what,
                     size_t count, struct error *err)
{
    struct measuring measuring;
    struct task_list *lists = xcalloc(count, sizeof(*lists));
    const double begun_s = monotonic_s();
    size_t series = 0;
    int status = 0;
    for (size_t i = 0; i < count; i++) {
        run_begin(&runs[i], RUN_BISECT, context, &what[i].base->commit, &what[i].head->commit);
        built_tell(&runs[i], what[i].base, what[i].head);
    }
    for (size_t i = 0; status == 0 && i < count; i++) {
        status = task_list_of_comparison(&lists[i], &runs[i], context, &what[i], err);
        series += lists[i].count;
    }
    show_builds(&measuring, context, what, count);
    measuring.deadline_s = begun_s + (double)count * context->policy.gate.seconds;
    for (size_t i = 0; status == 0 && i < count; i++)
        status = run_enter(&runs[i], context, err);
    if (status == 0)
        status = compare_measure(lists, count, &measuring, err);
    for (size_t i = 0; status == 0 && i < count; i++)
        status = finish(&runs[i], &lists[i], context, &what[i], err);
    if (status == 0 && count > 1)
        progress_note(&context->progress, "%zu pairs of codes side by side in %u %s, %.1f s",
                      series, measuring.processes,
                      plural(measuring.processes, "process", "processes"), monotonic_s() - begun_s);
    measuring_end(&measuring);
    free(lists);
    return status;
}
