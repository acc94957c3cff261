// SPDX-License-Identifier: Apache-2.0
//
// The comparisons that a plain run owes the history: each new code beside codes before it, all
// series of one earlier commit together, as a gate of the two commits would measure them.
#include "ci/gate/linking.h"
#include "ci/gate/pipeline.h"

// A new code beside one before it. A build that is not kept any more is not made again for this.
static int link_group(struct run *run, struct context *context, const struct built *head,
                      const struct linking_group *group, struct error *err)
{
    struct built base;
    struct run compared = {0};
    struct comparison what = {.base = &base, .head = head, .count = group->count};
    struct compared *series = arena_alloc(&run->arena, group->count * sizeof(*series));
    bool kept = false;
    const struct to_build earlier = {.commit = &group->base, .toolchain = head->toolchain};
    if (built_kept(&kept, context, &earlier, err) ||
        (kept && built_make(&base, context, &earlier, &run->arena, err)))
        return -1;
    if (!kept || base.state != MEASURED_OK) {
        progress_note(&context->progress, "%.10s is not linked with %.10s: its build is not kept",
                      head->commit.id, group->base.id);
        return 0;
    }
    for (size_t i = 0; i < group->count; i++) {
        const struct result *r = &run->results[group->series[i]];
        series[i] = (struct compared){&context->devices[r->device], r->kernel, &r->problem};
    }
    what.series = series;
    const int status = pipeline_compare(&compared, context, &what, err) ||
                               linking_save(context, &compared, group->back, err)
                           ? -1
                           : 0;
    run_free(&compared);
    return status;
}

int pipeline_link(struct run *run, struct context *context, const struct built *head,
                  struct error *err)
{
    struct linking linking;
    if (run_names_toolchain(run)) // links are the history of the default's codes
        return 0;
    if (linking_plan(&linking, run, context, err))
        return -1;
    for (size_t i = 0; i < linking.count; i++) {
        if (link_group(run, context, head, &linking.groups[i], err))
            return -1;
    }
    return 0;
}
