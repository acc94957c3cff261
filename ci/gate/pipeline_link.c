// SPDX-License-Identifier: Apache-2.0
//
// The comparisons that plain runs owe the history: each new code beside codes before it, all series
// of two commits together as a gate of the two would measure them, and those of all commits side by
// side; then what is doubtful among them once more.
#include "ci/gate/judge.h"
#include "ci/gate/linking.h"
#include "ci/gate/linking_doubts.h"
#include "ci/gate/pipeline.h"

#include <stdlib.h>
#include <string.h>

struct owed {
    struct context *context;
    struct measured *list;
    size_t list_count;
    struct comparison *items;
    size_t count;
    struct built **earlier; // builds of commits that are not in the list, each once
    size_t earlier_count;
    struct arena arena;
};

// *out is NULL for a build that is not kept any more: it is not made again for this.
static int find_build(const struct built **out, struct owed *o, const struct commit *commit,
                      struct error *err)
{
    bool kept = false;
    for (size_t i = 0; i < o->list_count; i++) {
        *out = &o->list[i].built;
        if (strcmp((*out)->commit.id, commit->id) == 0)
            return 0;
    }
    for (size_t i = 0; i < o->earlier_count; i++) {
        *out = o->earlier[i];
        if (strcmp((*out)->commit.id, commit->id) == 0)
            return 0;
    }
    const struct to_build earlier = {.commit = commit};
    *out = NULL;
    if (built_kept(&kept, o->context, &earlier, err))
        return -1;
    if (!kept)
        return 0;
    struct built *made = arena_alloc(&o->arena, sizeof(*made));
    if (built_make(made, o->context, &earlier, &o->arena, err))
        return -1;
    struct built **grown = arena_alloc(&o->arena, (o->earlier_count + 1) * sizeof(struct built *));
    if (o->earlier_count)
        memcpy(grown, o->earlier, o->earlier_count * sizeof(struct built *));
    o->earlier = grown;
    o->earlier[o->earlier_count++] = made;
    *out = made;
    return 0;
}

static int add_group(struct owed *o, const struct built *head, const struct linking_group *group,
                     struct error *err)
{
    const struct built *base;
    if (find_build(&base, o, &group->base, err))
        return -1;
    if (!base || base->state != MEASURED_OK) {
        progress_note(&o->context->progress,
                      "%.10s is not linked with %.10s: its build is not kept", head->commit.id,
                      group->base.id);
        return 0;
    }
    struct comparison *grown = arena_alloc(&o->arena, (o->count + 1) * sizeof(*grown));
    if (o->count)
        memcpy(grown, o->items, o->count * sizeof(*grown));
    o->items = grown;
    o->items[o->count++] = (struct comparison){base, head, group->series, group->count};
    return 0;
}

static int compare(struct context *context, const struct comparison *items, size_t count,
                   struct error *err)
{
    struct run *runs = xcalloc(count, sizeof(*runs));
    const int status = pipeline_compare(runs, context, items, count, err);
    for (size_t i = 0; i < count; i++)
        run_free(&runs[i]);
    free(runs);
    return status;
}

static int compare_owed(struct owed *o, struct error *err)
{
    struct comparison *again;
    size_t count;
    if (compare(o->context, o->items, o->count, err) ||
        linking_doubts(&again, &count, o->items, o->count, o->context, &o->arena, err))
        return -1;
    return count ? compare(o->context, again, count, err) : 0;
}

int pipeline_link(struct measured *list, size_t count, struct context *context, struct error *err)
{
    struct owed owed = {.context = context, .list = list, .list_count = count};
    int status = 0;
    for (size_t i = 0; status == 0 && i < count; i++) {
        struct linking linking = {0};
        if (run_names_toolchain(&list[i].run)) // links are the history of the default's codes
            continue;
        status = judge_history(&list[i].run, context, err) ||
                 linking_plan(&linking, &list[i].run, i + 1 < count, context, err);
        for (size_t k = 0; status == 0 && k < linking.count; k++)
            status = add_group(&owed, &list[i].built, &linking.groups[k], err);
    }
    if (status == 0 && owed.count)
        status = compare_owed(&owed, err);
    arena_free(&owed.arena);
    return status;
}
