// SPDX-License-Identifier: Apache-2.0
//
// Which links a new code gets: with the code before it, and with its marks, so that errors of many
// short links do not add up (model/history/levels.c): the codes 8 and 64 before it, and the code of
// the commit from which on the epochs file of the run's head accepts the series.
//
// Where the policy says nothing, codes of a host get none of these. But what times alone call
// slower or faster is paired with the code that they were held against, for a busy machine does
// that too: an alarm is confirmed side by side. Such a link is no step of the history, as a gate's
// is none.
//
// The code before is looked for along first parents, among commits whose build the store knows: a
// commit that was never measured is passed over, and so is a code that did not work in this series.
#include "ci/gate/linking.h"
#include "ci/gate/accepting.h"
#include "ci/gate/line.h"
#include "ci/settings/epochs.h"

#include "model/gate/gate.h"
#include "model/history/drift.h"

#include <string.h>

// A history is looked through so far. More codes than the farthest mark seldom take so many.
enum { COMMITS_MOST = 1024 };
static const uint32_t marks[] = {1, 8, 64};

struct walker { // one series on its way back
    const struct result *result;
    char code[OBJECT_ID_TEXT]; // the one seen last
    uint32_t back;             // codes so far
    const struct epoch *epoch; // whose commit has not been passed yet; NULL: none
    bool passed;               // it was just now: the next code is the accepted one
    bool over;
};

bool linking_links(const struct context_device *device, const struct context *context)
{
    const char *link = context->policy.link;
    return link ? strcmp(link, "on") == 0 : strcmp(device->policy->kind, "cuda") == 0;
}

static bool wanted(const struct result *r, const struct context *context)
{
    const struct context_device *device = &context->devices[r->device];
    return linking_links(device, context) && !device->away && !r->control &&
           r->head.state == MEASURED_OK && r->head_code[0];
}

static struct series series_of(const struct result *r, const struct context *context)
{
    return (struct series){r->kernel, &r->problem, context->devices[r->device].unit.uuid};
}

// This code worked in this series.
static int works(bool *out, const struct walker *w, const char *code, struct context *context,
                 struct error *err)
{
    struct measurement m;
    struct arena arena = {0};
    const struct series series = series_of(w->result, context);
    const struct measured_how any = {0};
    const int status =
        store_find_measurement(&m, out, context->store, &series, code, &any, &arena, err);
    *out = status == 0 && *out && m.state == MEASURED_OK;
    arena_free(&arena);
    return status;
}

// A gate or a bisection of the same two codes is no step of the history, which needs its own; one
// with a mark is no comparison of neighbours. For an alarm any will do.
static bool counts(const struct link *link, const struct walker *w)
{
    return w->back == 0 || (w->back == 1 ? link->back == 1 : link->back > 0);
}

// Codes are what was compared, whichever commits had them then: an amended message, a rebase and a
// merge bring the same two. Of an earlier commit of the same line it was another change.
static int linked(bool *out, const struct walker *w, const char *code, const struct run *run,
                  struct context *context, struct error *err)
{
    struct link *links;
    struct arena arena = {0};
    size_t count = 0;
    const struct series series = series_of(w->result, context);
    const int status = store_links(&links, &count, context->store, &series, &arena, err);
    *out = false;
    for (size_t i = 0; status == 0 && i < count; i++)
        *out |= counts(&links[i], w) && !strcmp(links[i].base_code, code) &&
                !strcmp(links[i].head_code, w->result->head_code) &&
                !line_has(run, links[i].head.id, context);
    arena_free(&arena);
    return status;
}

static void add(struct linking *l, struct run *run, const struct commit *base,
                const struct walker *w, enum gate_use use, const struct context *context)
{
    const struct result *r = w->result;
    struct linking_group *g = NULL;
    for (size_t i = 0; i < l->count && !g; i++) {
        if (strcmp(l->groups[i].base.id, base->id) == 0)
            g = &l->groups[i];
    }
    if (!g) {
        struct linking_group *grown = arena_alloc(&run->arena, (l->count + 1) * sizeof(*l->groups));
        if (l->count)
            memcpy(grown, l->groups, l->count * sizeof(*grown));
        l->groups = grown;
        g = &l->groups[l->count++];
        *g = (struct linking_group){.base = *base};
        g->series = arena_alloc(&run->arena, run->count * sizeof(*g->series));
    }
    g->series[g->count++] = (struct compared_series){&context->devices[r->device], r->kernel,
                                                     &r->problem, w->back, use};
}

// The newest commit is what a run is judged by: it has whole gates.
static enum gate_use use_of_change(const struct linking *l)
{
    return l->within ? GATE_FOR_CHANGE : GATE_FOR_VERDICT;
}

// One code further back: whether it works, and is not the head's own.
static int follow(bool *out, struct walker *w, const char *code, struct context *context,
                  struct error *err)
{
    if (works(out, w, code, context, err))
        return -1;
    w->over = *out && strcmp(code, w->code) == 0; // the head's: it is no new one
    *out &= !w->over;
    if (*out) {
        text_copy(w->code, sizeof(w->code), code);
        w->back++;
    }
    return 0;
}

static bool is_mark(uint32_t back)
{
    for (size_t i = 0; i < ARRAY_COUNT(marks); i++) {
        if (back == marks[i])
            return true;
    }
    return false;
}

// One commit further back, of which the store knows the build.
static int step(struct linking *l, struct walker *w, struct run *run, const struct commit *base,
                const struct build_record *build, struct context *context, struct error *err)
{
    const char *code = NULL;
    bool another = true, known = false;
    for (size_t i = 0; i < build->count && !code; i++) {
        if (strcmp(build->kernels[i].name, w->result->kernel) == 0)
            code = build->kernels[i].code;
    }
    const bool same = code && w->back && strcmp(code, w->code) == 0;
    if (!code || (same && !w->passed))
        return 0;
    if (!same && follow(&another, w, code, context, err))
        return -1;
    if (!another)
        return 0;
    const bool mark = same ? !is_mark(w->back) : is_mark(w->back) || w->passed;
    w->passed = false;
    w->over = w->back >= marks[ARRAY_COUNT(marks) - 1] && !w->epoch;
    if (!mark || strcmp(code, w->result->head_code) == 0)
        return 0;
    if (linked(&known, w, code, run, context, err))
        return -1;
    if (!known)
        add(l, run, base, w, w->back == 1 ? use_of_change(l) : GATE_FOR_LEVEL, context);
    return 0;
}

// The code at the accepted commit is that of the first commit at or before it whose build is known.
static void pass(struct walker *w, const struct commit *at)
{
    if (!w->epoch || strncmp(at->id, w->epoch->commit, strlen(w->epoch->commit)) != 0)
        return;
    w->epoch = NULL;
    w->passed = true;
}

static size_t begin(struct walker *walkers, const struct run *run, const struct epoch_list *epochs,
                    const struct context *context)
{
    size_t count = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        if (!wanted(r, context))
            continue;
        struct walker *w = &walkers[count++];
        *w = (struct walker){.result = r};
        w->epoch = epoch_find(epochs, r->kernel, &r->problem, series_of(r, context).device_uuid);
        text_copy(w->code, OBJECT_ID_TEXT, r->head_code);
        pass(w, &run->head);
        w->passed = false; // it is the head's own code
    }
    return count;
}

// ---- alarms ----

bool linking_confirms(const struct run *run, const struct result *r, const struct context *context)
{
    const struct context_device *device = &context->devices[r->device];
    const bool silent = !context->policy.link && strcmp(device->policy->kind, "host") == 0;
    return silent && !device->away && !r->control && !run_names_toolchain(run);
}

// Also of code whose time is known from before: a slow change may come back after its revert.
bool linking_alarms(const struct run *run, const struct result *r, const struct context *context)
{
    const struct drift_policy policy =
        drift_policy_default(context->devices[r->device].policy->kind);
    struct verdict v;
    if (!linking_confirms(run, r, context) || r->head.state != MEASURED_OK || !r->head_code[0] ||
        !r->history.count || !strcmp(r->history.newest_code, r->head_code))
        return false;
    drift_judge(&v, &r->history, &r->head, false, &policy);
    return v.kind == VERDICT_SLOWER || v.kind == VERDICT_FASTER;
}

// Commits that are gone from the repository cannot be built, and confirm nothing.
static int plan_alarms(struct linking *l, struct run *run, struct context *context,
                       struct error *err)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        const struct walker w = {.result = r};
        struct commit base;
        struct error gone;
        bool known = false;
        if (!linking_alarms(run, r, context) ||
            repository_commit(&base, context->repository,
                              r->history.points[r->history.count - 1].commit, &run->arena, &gone))
            continue;
        if (linked(&known, &w, r->history.newest_code, run, context, err))
            return -1;
        if (!known)
            add(l, run, &base, &w, use_of_change(l), context);
    }
    return 0;
}

// ---- both ----

int linking_plan(struct linking *out, struct run *run, bool within, struct context *context,
                 struct error *err)
{
    struct linking plan = {.within = within};
    struct epoch_list epochs;
    struct walker *walkers = arena_alloc(&run->arena, (run->count + 1) * sizeof(*walkers));
    struct commit at = run->head;
    if (accepting_epochs(&epochs, context, run->head.id, &run->arena, err) ||
        epochs_on_line(&epochs, context->repository, run->head.id, &run->arena, err))
        return -1;
    const size_t count = begin(walkers, run, &epochs, context);
    size_t left = count;
    for (size_t n = 0; left && n < COMMITS_MOST && at.parent[0]; n++) {
        struct build_record build;
        struct error edge; // of a shallow clone: there the history begins
        bool found = false;
        if (repository_parent(&at, context->repository, &at, &run->arena, &edge))
            break;
        if (store_find_commit_build(&build, &found, context->store, &at,
                                    built_recipe(context, NULL), &run->arena, err))
            return -1;
        left = 0;
        for (size_t i = 0; i < count; i++) {
            pass(&walkers[i], &at);
            if (found && !walkers[i].over &&
                step(&plan, &walkers[i], run, &at, &build, context, err))
                return -1;
            left += !walkers[i].over;
        }
    }
    if (plan_alarms(&plan, run, context, err))
        return -1;
    *out = plan;
    return 0;
}

// What can be a link: two codes that were paired. What the change itself accepts was judged too.
static bool judged(const struct result *r)
{
    return r->verdict.pairs && r->base.state == MEASURED_OK && r->head.state == MEASURED_OK &&
           r->base_code[0] && r->head_code[0] && strcmp(r->base_code, r->head_code) != 0;
}

static enum verdict_kind kind_of(const struct verdict *v)
{
    return v->kind != VERDICT_ACCEPTED ? v->kind
           : v->log_ratio.low > 0      ? VERDICT_SLOWER
                                       : VERDICT_UNDECIDED;
}

// Codes that a series of a comparison is apart.
static uint32_t back_of(const struct commit_comparison *what, const struct result *r,
                        const struct device *device)
{
    for (size_t i = 0; what && i < what->count; i++) {
        const struct compared_series *c = &what->series[i];
        if (!strcmp(c->kernel, r->kernel) && !strcmp(c->device->unit.uuid, device->uuid) &&
            problem_equal(c->problem, &r->problem))
            return c->back;
    }
    return 0;
}

int linking_save(struct context *context, const struct run *run,
                 const struct commit_comparison *what, struct error *err)
{
    struct arena arena = {0};
    int status = 0;
    if (run_names_toolchain(run))
        return 0;
    for (size_t i = 0; status == 0 && i < run->count; i++) {
        const struct result *r = &run->results[i];
        const struct device *device = &run->devices[r->device];
        const struct series series = {r->kernel, &r->problem, device->uuid};
        struct link link = {.base = run->base,
                            .head = run->head,
                            .tool_version = run->tool_version,
                            .made_s = run->finished_s,
                            .back = back_of(what, r, device),
                            .kind = kind_of(&r->verdict),
                            .log_evidence = r->verdict.log_evidence,
                            .pairs = r->verdict.pairs,
                            .processes = r->verdict.processes};
        text_copy(link.base_code, sizeof(link.base_code), r->base_code);
        text_copy(link.head_code, sizeof(link.head_code), r->head_code);
        if (!judged(r) || !gate_ratio(&link.log_ratio, &link.error, &r->base, &r->head, &arena))
            continue;
        status = store_run_uid(link.uid, context->store, run->id, err);
        if (status == 0 && link_sound(&link))
            status = store_save_link(context->store, &series, &link, err);
    }
    arena_free(&arena);
    return status;
}
