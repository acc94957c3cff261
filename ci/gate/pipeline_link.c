// SPDX-License-Identifier: Apache-2.0
//
// Makes links, the comparisons that plain runs need for the history. Each new code is compared with
// codes before it: all series of two commits together, as in a gate, and all pairs of commits side
// by side. Doubtful links are measured again.
#include "ci/gate/pipeline.h"

#include "baselines/store.h"
#include "ci/gate/conclude.h"
#include "ci/gate/judge.h"
#include "ci/gate/linking.h"
#include "ci/gate/measuring.h"
#include "ci/gate/task_list.h"
#include "model/history/levels.h"

#include <stdlib.h>
#include <string.h>

// ---- comparisons ----
//
// Compares series of two commits, many comparisons in the same processes. A comparison costs a
// fifth of a second on a GPU before its first launch, and a backfill of 20 codes needs about 50 of
// them. The reason of a change is not looked for here, because that takes longer than measuring; a
// gate finds it.

static void show_builds(struct measuring *measuring, struct context *context,
                        const struct commit_comparison *what, size_t count)
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
                  const struct commit_comparison *what, struct error *err)
{
    if (predicting_fill(run, tasks, context, err) ||
        judge_gate(run, tasks, context, what->base, what->head, NULL, 0, err))
        return -1;
    release_alarms(run);
    return run_leave(run, context, what->head, NULL, err) || linking_save(context, run, what, err)
               ? -1
               : 0;
}

int pipeline_compare(struct run *runs, struct context *context,
                     const struct commit_comparison *what, size_t count, struct error *err)
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

// ---- doubtful links ----
//
// A link with a mark claims no change, because changes are links with the code before. So it is
// measured in one process, however large it is. Most of these links agree with the levels: eight
// codes after a change have a mark before it. Confirming each in three more processes took half of
// all openings of a backfill (baselines/recorded/h200/history). A link is doubtful if one of these
// holds:
// - it differs from all other links by more than a good link does once in a hundred times;
// - the gate's rule calls it slower or faster, and no link of neighbours between its two codes
//   does, so that it would count as creep.
// It is measured once more, in a process that is new to it, which gives a second fact. Levels weigh
// both, and set aside what does not fit.

static const double seldom = 0.01;

// The links of one series, sorted by their heads, while each is checked.
struct doubting {
    struct link *links;
    size_t count;
    struct levels *levels; // NULL: levels cannot be computed
};

// Finds a code's number. Most links name a code that was named shortly before.
static size_t number_of(const char **codes, size_t *count, const char *code)
{
    for (size_t i = *count; i-- > 0;) {
        if (strcmp(codes[i], code) == 0)
            return i;
    }
    codes[*count] = code;
    return (*count)++;
}

static void level_all(struct doubting *d)
{
    const char **codes = xcalloc(2 * d->count + 1, sizeof(*codes));
    size_t known = 0;
    struct error tangled;
    d->levels = levels_new();
    for (size_t i = 0; i < d->count; i++) {
        const struct link *l = &d->links[i];
        struct level_link link = {.log_ratio = l->log_ratio, .error = l->error};
        link.from = number_of(codes, &known, l->base_code);
        link.to = number_of(codes, &known, l->head_code);
        levels_add(d->levels, &link);
    }
    if (levels_close(d->levels, &levels_prior, &tangled)) {
        levels_free(d->levels);
        d->levels = NULL;
    }
    free(codes);
}

// Whether a link of neighbouring codes, between this link's base and its head, has the same
// verdict.
static bool is_claimed(const struct doubting *d, const struct link *mark)
{
    const char *code = mark->head_code;
    for (uint32_t steps = 0; steps < mark->back && strcmp(code, mark->base_code) != 0; steps++) {
        const struct link *before = NULL;
        for (size_t i = 0; i < d->count; i++) {
            if (d->links[i].back == 1 && strcmp(d->links[i].head_code, code) == 0)
                before = &d->links[i];
        }
        if (!before || before->kind == mark->kind)
            return before != NULL;
        code = before->base_code;
    }
    return false;
}

static bool is_alone(const struct doubting *d, const struct link *link)
{
    size_t same = 0;
    for (size_t i = 0; i < d->count; i++)
        same += strcmp(d->links[i].base_code, link->base_code) == 0 &&
                strcmp(d->links[i].head_code, link->head_code) == 0;
    return same == 1;
}

static bool is_doubtful(const struct doubting *d, size_t i)
{
    const struct link *l = &d->links[i];
    const bool alarm = l->kind == VERDICT_SLOWER || l->kind == VERDICT_FASTER;
    return is_alone(d, l) && ((alarm && !is_claimed(d, l)) ||
                              (d->levels && levels_fit_chance(d->levels, i) < seldom));
}

// The link that a comparison gave; the number of links if it gave none.
static size_t link_of(const struct doubting *d, const struct commit_comparison *what, uint32_t back)
{
    size_t i = 0;
    while (i < d->count &&
           (d->links[i].back != back || strcmp(d->links[i].base.id, what->base->commit.id) != 0 ||
            strcmp(d->links[i].head.id, what->head->commit.id) != 0))
        i++;
    return i;
}

static bool same_series(const struct compared_series *a, const struct compared_series *b)
{
    return a->device == b->device && strcmp(a->kernel, b->kernel) == 0 &&
           problem_equal(a->problem, b->problem);
}

struct asked_again {
    const struct commit_comparison *what;
    size_t count;
    bool **asked; // by comparison and series
    struct compared_series **series;
    struct commit_comparison *again; // copies of `what` with the doubtful series only
};

// Checks every link with a mark of one series. Its levels are computed once.
static int ask_series(struct asked_again *a, const struct compared_series *series,
                      struct context *context, struct error *err)
{
    struct arena scratch = {0};
    struct doubting d = {0};
    const struct series of = {series->kernel, series->problem, series->device->unit.uuid};
    const int status = store_links(&d.links, &d.count, context->store, &of, &scratch, err);
    if (status == 0)
        level_all(&d);
    for (size_t i = 0; status == 0 && i < a->count; i++) {
        const struct commit_comparison *what = &a->what[i];
        struct commit_comparison *again = &a->again[i];
        for (size_t k = 0; k < what->count; k++) {
            const struct compared_series *c = &what->series[k];
            if (c->use != GATE_FOR_LEVEL || !same_series(c, series))
                continue;
            const size_t link = link_of(&d, what, c->back);
            a->asked[i][k] = true;
            if (link < d.count && is_doubtful(&d, link))
                a->series[i][again->count++] = *c;
        }
    }
    levels_free(d.levels);
    arena_free(&scratch);
    return status;
}

int linking_doubts(struct commit_comparison **out, size_t *count,
                   const struct commit_comparison *what, size_t what_count, struct context *context,
                   struct arena *arena, struct error *err)
{
    struct asked_again a = {.what = what,
                            .count = what_count,
                            .asked = arena_alloc(arena, what_count * sizeof(*a.asked)),
                            .series = arena_alloc(arena, what_count * sizeof(*a.series)),
                            .again = arena_alloc(arena, what_count * sizeof(*a.again))};
    for (size_t i = 0; i < what_count; i++) {
        a.asked[i] = arena_alloc(arena, what[i].count * sizeof(**a.asked));
        memset(a.asked[i], 0, what[i].count * sizeof(**a.asked));
        a.series[i] = arena_alloc(arena, what[i].count * sizeof(**a.series));
        a.again[i] = (struct commit_comparison){what[i].base, what[i].head, a.series[i], 0};
    }
    for (size_t i = 0; i < what_count; i++) {
        for (size_t k = 0; k < what[i].count; k++) {
            const struct compared_series *c = &what[i].series[k];
            if (c->use == GATE_FOR_LEVEL && !a.asked[i][k] && ask_series(&a, c, context, err))
                return -1;
        }
    }
    *count = 0;
    for (size_t i = 0; i < what_count; i++) {
        if (a.again[i].count)
            a.again[(*count)++] = a.again[i];
    }
    *out = a.again;
    return 0;
}

struct owed {
    struct context *context;
    struct measured *list;
    size_t list_count;
    struct commit_comparison *items;
    size_t count;
    struct built **earlier; // builds of commits that are not in the list, each once
    size_t earlier_count;
    struct arena arena;
};

// Finds a commit's build. *out is NULL for a build that is no longer kept; it is not made again for
// this.
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
    struct commit_comparison *grown = arena_alloc(&o->arena, (o->count + 1) * sizeof(*grown));
    if (o->count)
        memcpy(grown, o->items, o->count * sizeof(*grown));
    o->items = grown;
    o->items[o->count++] = (struct commit_comparison){base, head, group->series, group->count};
    return 0;
}

static int compare(struct context *context, const struct commit_comparison *items, size_t count,
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
    struct commit_comparison *again;
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
        if (run_names_toolchain(&list[i].run)) // links form the history of the default toolchain's
                                               // codes
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
