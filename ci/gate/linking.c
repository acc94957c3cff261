// SPDX-License-Identifier: Apache-2.0
//
// Decides which links a new code gets. They are with the code before it, and with marks, so that
// the errors of many short links do not add up (model/history/levels.c). Marks are the codes 8 and
// 64 before it, and the code of the commit from which on the epochs file of the run's head accepts
// the series.
//
// If the policy says nothing, codes of a host get none of these. But if times alone call a code
// slower or faster, it is compared by pairs with the code that it was compared with, because a busy
// machine may be the reason: an alarm needs pairs to confirm it. Such a link is no step of the
// history, just as a gate's link is none.
//
// The code before is looked for along first parents, among commits whose build the store knows. A
// commit that was never measured is skipped, and so is a code that did not work in this series.
#include "ci/gate/linking.h"

#include "baselines/epoch.h"
#include "baselines/store.h"
#include "ci/gate/built.h"
#include "ci/settings/context.h"
#include "ci/settings/epochs.h"
#include "model/gate/gate.h"
#include "model/history/drift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ==== what a line of first parents has ====
//
// The line is kept from one commit to the next, because a backfill walks along it. Builds of its
// commits are looked up when they are needed.

enum {
    LINE_MOST = 4096,   // how many commits back a line is followed
    BUILDS_MOST = 1024, // for how many of them builds are looked up
    POINTS_MOST = 4096  // how many points are read if the newest ones do not suffice
};

struct line_commit {
    struct commit commit;
    struct build_record build;
    bool asked, found; // whether the build was looked up, and whether it is known
};

struct line {
    struct line_commit *items; // oldest first; the last one is the head
    size_t count;
    struct id_index names;
    const char *recipe; // the recipe of the builds
    bool whole;         // the first one is a root
};

// ---- the commits ----

// The line of `head`. If it continues the last line that was made, that one is extended.
static const struct line *line_of(struct context *context, const struct commit *head,
                                  const char *recipe)
{
    struct line *l = context->line, fresh = {.recipe = recipe};
    struct arena *arena = &context->arena;
    struct commit *walked = xcalloc(LINE_MOST, sizeof(*walked));
    struct error edge;
    size_t count = 0, kept = 0;
    if (l && strcmp(l->recipe, recipe) == 0 &&
        strcmp(l->items[l->count - 1].commit.id, head->id) == 0) {
        free(walked);
        return l;
    }
    const bool same = l && strcmp(l->recipe, recipe) == 0;
    for (struct commit at = *head;;) {
        const size_t met = same ? id_find(&l->names, at.id) : SIZE_MAX;
        kept = met == SIZE_MAX ? 0 : met + 1;
        fresh.whole = kept ? l->whole : !at.parent[0];
        if (kept || count == LINE_MOST)
            break;
        walked[count++] = at;
        if (!at.parent[0] || repository_parent(&at, context->repository, &at, arena, &edge))
            break;
    }
    fresh.items = arena_alloc(arena, (kept + count) * sizeof(*fresh.items));
    memset(fresh.items, 0, (kept + count) * sizeof(*fresh.items));
    if (kept)
        memcpy(fresh.items, l->items, kept * sizeof(*fresh.items));
    for (size_t i = 0; i < count; i++)
        fresh.items[kept + i].commit = walked[count - 1 - i];
    fresh.count = kept + count;
    free(walked);
    fresh.names = id_index(fresh.items->commit.id, sizeof(*fresh.items), fresh.count, arena);
    context->line = arena_copy(arena, &fresh, sizeof(fresh));
    return context->line;
}

// Finds the kernel's code at a commit of the line; NULL: not known.
static int code_at(const char **out, const struct line *l, size_t at, const char *kernel,
                   struct context *context, struct error *err)
{
    struct line_commit *c = &l->items[at];
    *out = NULL;
    if (!c->asked && store_find_commit_build(&c->build, &c->found, context->store, &c->commit,
                                             l->recipe, &context->arena, err))
        return -1;
    c->asked = true;
    for (size_t i = 0; c->found && i < c->build.count && !*out; i++) {
        if (strcmp(c->build.kernels[i].name, kernel) == 0)
            *out = c->build.kernels[i].code;
    }
    return 0;
}

// ---- the points ----

// A point and the commit of the line at which it counts; SIZE_MAX: at none.
struct placed {
    struct stored_point point;
    const char *code; // "" unknown
    size_t place, order;
    bool own; // it was measured at that commit
};

struct past {
    const struct line *line;
    struct run *run;
    const struct result *r;
    const struct series *series;
    struct context *context;
    struct placed *items;
    size_t count;
    const char *code; // the code before; NULL: not known
    size_t before;    // its place in the line
};

static bool measured(const struct past *p, const char *code)
{
    bool found = false;
    for (size_t i = 0; code && i < p->count && !found; i++)
        found = strcmp(p->items[i].code, code) == 0;
    return found;
}

// The code of the newest point that was measured at a commit; NULL: there is none.
static const char *own_code_at(const struct past *p, size_t at)
{
    for (size_t i = p->count; i-- > 0;) {
        if (p->items[i].own && p->items[i].place == at && p->items[i].code[0])
            return p->items[i].code;
    }
    return NULL;
}

// Finds the nearest commit before the head whose code has a time, wherever that was measured.
static int find_before(struct past *p, struct error *err)
{
    p->code = NULL;
    for (size_t at = p->line->count - 1, n = 0; !p->code && at-- > 0 && n < BUILDS_MOST; n++) {
        const char *code;
        p->before = at;
        p->code = own_code_at(p, at);
        if (p->code)
            return 0;
        if (code_at(&code, p->line, at, p->series->kernel, p->context, err))
            return -1;
        p->code = measured(p, code) ? code : NULL;
    }
    return 0;
}

// Assigns points of other branches to the nearest commit before the head that has their code.
static int adopt(struct past *p, struct error *err)
{
    for (size_t at = p->line->count - 1, n = 0; at-- > 0 && n < BUILDS_MOST; n++) {
        const struct commit *commit = &p->line->items[at].commit;
        const char *code;
        if (code_at(&code, p->line, at, p->series->kernel, p->context, err))
            return -1;
        for (size_t i = 0; code && i < p->count; i++) {
            struct placed *one = &p->items[i];
            if (one->place != SIZE_MAX || strcmp(one->code, code) != 0)
                continue;
            one->place = at;
            text_copy(one->point.commit, sizeof(one->point.commit), commit->id);
            one->point.time_s = commit->time_s;
        }
    }
    return 0;
}

// The code before may be one that came back and was not measured there; then its earlier times
// count.
static void bring_back(struct past *p)
{
    bool there = !p->code;
    for (size_t i = 0; i < p->count && !there; i++)
        there = p->items[i].place == p->before;
    for (size_t i = 0; i < p->count && !there; i++) {
        if (strcmp(p->items[i].code, p->code) == 0)
            p->items[i].place = p->before;
    }
}

// For commits older than the known part of the line, dates decide which came first.
static size_t place_by_date(const struct past *p, const struct stored_point *point)
{
    const struct commit *first = &p->line->items[0].commit;
    return !p->line->whole && point->time_s <= first->time_s ? 0 : SIZE_MAX;
}

static int by_place(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    return a->place != b->place ? (a->place > b->place) - (a->place < b->place)
                                : (a->order > b->order) - (a->order < b->order);
}

static int take(struct past *p, const struct stored_points *stored, struct error *err)
{
    p->count = stored->count;
    p->items = arena_alloc(&p->run->arena, (p->count + 1) * sizeof(*p->items));
    for (size_t i = 0; i < p->count; i++) {
        const struct stored_point *point = &stored->points[i];
        const size_t at = id_find(&p->line->names, point->commit);
        const char *code = "";
        if (i > 0 && point->code == point[-1].code)
            code = p->items[i - 1].code;
        else if (point->code &&
                 store_code_id(&code, p->context->store, point->code, &p->run->arena, err))
            return -1;
        p->items[i] = (struct placed){*point, code, at, i, at != SIZE_MAX};
    }
    return 0;
}

// Whether the repository knows a commit of these points, so that they were not imported.
static bool is_ours(const struct past *p)
{
    bool ours = false;
    for (size_t i = 0; i < p->count && !ours; i++) {
        struct commit found;
        struct error none;
        ours = p->items[i].own ||
               repository_commit(&found, p->context->repository, p->items[i].point.commit,
                                 &p->run->arena, &none) == 0;
    }
    return ours;
}

// Keeps the points that count, in their order. Points of the head itself count only if the code
// before it is the same, or is not known.
static void settle(struct line_past *out, struct past *p, size_t limit)
{
    const size_t head = p->line->count - 1;
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++) {
        struct placed *one = &p->items[i];
        const bool after = one->place == head && p->code && strcmp(one->code, p->code) != 0;
        if (one->place == SIZE_MAX)
            one->place = place_by_date(p, &one->point);
        if (one->place != SIZE_MAX && !after)
            p->items[count++] = *one;
    }
    qsort(p->items, count, sizeof(*p->items), by_place);
    p->count = count;
    const size_t first = count > limit ? count - limit : 0;
    out->points = (struct stored_points){
        .points = arena_alloc(&p->run->arena, (count - first + 1) * sizeof(*out->points.points)),
        .count = count - first,
        .newest_code = count ? p->items[count - 1].code : ""};
    for (size_t i = first; i < count; i++)
        out->points.points[i - first] = p->items[i].point;
    for (size_t i = 0; i < count && strcmp(out->points.newest_code, p->r->head_code) != 0; i++)
        out->returned |= strcmp(p->items[i].code, p->r->head_code) == 0;
}

static int read_points(struct stored_points *out, const struct past *p, const char *until,
                       size_t limit, struct error *err)
{
    const struct history_query query = {.limit = limit,
                                        .except_run = p->run->id,
                                        .until = until,
                                        .toolchain = p->run->toolchain[ROLE_HEAD]};
    return store_points(out, p->context->store, p->series, &query, &p->run->arena, err);
}

// Whether some points belong to no commit of the line.
static bool strays(const struct past *p)
{
    bool any = false;
    for (size_t i = 0; i < p->count; i++)
        any |= !p->items[i].own;
    return any;
}

static const struct line *line_of_run(const struct run *run, struct context *context)
{
    const struct toolchain by = {.name = run->toolchain[ROLE_HEAD]};
    return line_of(context, &run->head, built_recipe(context, by.name ? &by : NULL));
}

bool line_has(const struct run *run, const char *commit, struct context *context)
{
    const struct line *l = line_of_run(run, context);
    return id_find(&l->names, commit) < l->count - 1;
}

int line_past(struct line_past *out, struct run *run, const struct result *r,
              const struct series *series, size_t limit, struct context *context, struct error *err)
{
    struct stored_points stored;
    struct past p = {.run = run, .r = r, .series = series, .context = context};
    *out = (struct line_past){.points = {.newest_code = ""}};
    if (read_points(&stored, &p, run->head.id, limit, err))
        return -1;
    if (stored.count == 0)
        return 0;
    p.line = line_of_run(run, context);
    if (take(&p, &stored, err))
        return -1;
    const bool ours = is_ours(&p);
    for (size_t i = 0; !ours && i < p.count; i++)
        p.items[i].place = 0; // they are in the order of dates
    if (ours && find_before(&p, err))
        return -1;
    // Sorted by date, some points may be missing: a branch measured later the code that the line
    // has, or measured very much.
    if (ours && (!p.code || strays(&p))) {
        if (read_points(&stored, &p, NULL, POINTS_MOST, err) || take(&p, &stored, err) ||
            find_before(&p, err) || adopt(&p, err))
            return -1;
    }
    bring_back(&p);
    settle(out, &p, limit);
    return 0;
}

// ==== accepted changes ====
//
// Finds the epochs that came with a change, and the verdicts that they cover.

// Reads the epochs file of a commit into the arena; a commit without one has none.
static int accepting_epochs(struct epoch_list *out, const struct context *context,
                            const char *commit, struct arena *arena, struct error *err)
{
    char id[OBJECT_ID_TEXT];
    char *text = NULL;
    size_t size;
    *out = (struct epoch_list){0};
    if (repository_path_id(id, context->repository, commit, EPOCHS_PATH, err))
        return -1;
    if (!id[0])
        return 0;
    if (repository_read(&text, &size, context->repository, commit, EPOCHS_PATH, err))
        return -1;
    const char *label = arena_printf(arena, EPOCHS_PATH " at %.10s", commit);
    const int status = epoch_parse(out, text, size, label, arena, err);
    free(text);
    return status;
}

// Lists the commits that the head has and the base has not.
static int read_commits(struct commit_list *out, const struct context *context,
                        const struct commit *base, const struct commit *head, struct arena *arena,
                        struct error *err)
{
    const struct commit_selection selection = {
        .range = arena_printf(arena, "%s..%s", base->id, head->id)};
    return repository_select(out, context->repository, &selection, arena, err);
}

// Whether an epoch names one of these commits. Whole ids are compared, because anybody can make a
// commit with the same first digits in seconds.
static bool names_one(const struct epoch *e, const struct commit_list *commits)
{
    for (size_t i = 0; i < commits->count; i++) {
        if (strcmp(commits->items[i].id, e->commit) == 0)
            return true;
    }
    return false;
}

int accepting_read(struct epoch_list *out, const struct context *context, const struct commit *base,
                   const struct commit *head, struct arena *arena, struct error *err)
{
    // An epoch that a stranger wrote accepts nothing, neither in the head nor in a base that is a
    // stranger's, too.
    const bool strangers = context_strangers(context, head->id);
    const bool by_base = context->policy.gate.accept_base || strangers;
    struct epoch_list before = {0}, now = {0};
    struct commit_list commits = {0};
    struct repository_trust trust;
    const char *file = base->id;
    repository_trusted(&trust, context->repository);
    if (strangers && context_strangers(context, base->id))
        file = trust.commit;
    if ((*file && accepting_epochs(&before, context, file, arena, err)) ||
        (by_base ? before.count && read_commits(&commits, context, base, head, arena, err)
                 : accepting_epochs(&now, context, head->id, arena, err)))
        return -1;
    const struct epoch_list *from = by_base ? &before : &now;
    struct epoch_list list = {.epochs =
                                  arena_alloc(arena, (from->count + 1) * sizeof(*list.epochs))};
    for (size_t i = 0; i < from->count; i++) {
        const struct epoch *e = &from->epochs[i];
        if (by_base ? names_one(e, &commits) : !epoch_known(&before, e))
            list.epochs[list.count++] = *e;
    }
    *out = list;
    return 0;
}

static bool is_gone(const struct result *r)
{
    return r->verdict.kind == VERDICT_BROKEN && r->head.state == MEASURED_MISSING;
}

static bool covers(const struct epoch *e, const struct result *r)
{
    const struct verdict *v = &r->verdict;
    const double most = e->level + log1p(v->margin) / 2;
    if (e->removed || is_gone(r))
        return e->removed && is_gone(r);
    const bool timed = v->pairs || (v->model && strcmp(v->model, DRIFT_MODEL) == 0);
    if (!(e->level > 0) || !timed)
        return false;
    return v->kind == VERDICT_SLOWER ? v->log_ratio.low <= most
                                     : v->kind == VERDICT_UNDECIDED && v->log_ratio.high <= most;
}

static const char *name_of(struct run *run, const struct result *r)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &r->problem);
    return arena_printf(&run->arena, "%s %s ", r->kernel, problem);
}

// Makes the sentence of an accepted result: what is accepted and by whom, then the verdict before.
static void accept(struct run *run, struct result *r, const struct epoch *e)
{
    const char *name = name_of(run, r), *was = r->verdict.sentence;
    const char *size =
        e->removed ? "" : arena_printf(&run->arena, ", up to %+.2f %%", 100 * expm1(e->level));
    if (strncmp(was, name, strlen(name)) == 0)
        was += strlen(name);
    r->verdict.kind = VERDICT_ACCEPTED;
    const char *now = e->removed ? "is gone" : strncmp(was, "took ", 5) == 0 ? was : NULL;
    now = now ? now : arena_printf(&run->arena, "is %s", was);
    r->verdict.sentence =
        arena_printf(&run->arena, "%saccepted in this change%s: %.200s (%.100s); it %s", name, size,
                     e->reason, e->who, now);
}

static void accept_removal(struct run *run, struct result *r)
{
    r->verdict.kind = VERDICT_ACCEPTED;
    r->verdict.cause = CAUSE_NONE;
    r->verdict.sentence = arena_printf(
        &run->arena, "%swas removed, as the policy allows (gate.removed)", name_of(run, r));
}

// Accepts a series if an epoch covers it. The file grows at its end, so the last such epoch counts.
static void accept_covered(struct run *run, struct result *r, const struct epoch_list *epochs)
{
    for (size_t i = epochs->count; i > 0; i--) {
        const struct epoch *e = &epochs->epochs[i - 1];
        if (!covers(e, r) ||
            !epoch_matches(e, r->kernel, &r->problem, run->devices[r->device].uuid))
            continue;
        accept(run, r, e);
        return;
    }
}

void accepting_apply(struct run *run, const struct epoch_list *epochs,
                     const struct policy_gate *gate)
{
    for (size_t i = 0; i < run->count; i++) {
        struct result *r = &run->results[i];
        if (is_gone(r) && gate->removed_allowed)
            accept_removal(run, r);
        else
            accept_covered(run, r, epochs);
    }
}

void accepting_slower(struct run *run, struct result *r, const struct commit *base,
                      const struct context *context)
{
    struct epoch_list epochs;
    struct error gone;
    if (context->repository && r->verdict.kind == VERDICT_SLOWER &&
        accepting_read(&epochs, context, base, &run->head, &run->arena, &gone) == 0)
        accept_covered(run, r, &epochs);
}

// ==== links ====

// How far back a history is looked through. More codes than the farthest mark rarely take more
// commits.
enum { COMMITS_MOST = 1024 };
static const uint32_t marks[] = {1, 8, 64};

struct walker { // one series, followed back
    const struct result *result;
    char code[OBJECT_ID_TEXT]; // the code that was seen last
    uint32_t back;             // number of codes so far
    const struct epoch *epoch; // the epoch whose commit has not been passed yet; NULL: none
    bool passed;               // the commit was passed just now, so the next code is the accepted
                               // one
    bool over;
};

static bool wanted(const struct result *r, const struct context *context)
{
    const struct context_device *device = &context->devices[r->device];
    return context_links(context, device) && !device->away && !r->control &&
           r->head.state == MEASURED_OK && r->head_code[0];
}

static struct series series_of(const struct result *r, const struct context *context)
{
    return (struct series){r->kernel, &r->problem, context->devices[r->device].unit.uuid};
}

// Whether this code worked in this series.
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

// Whether a link counts. A link of the same two codes from a gate or a bisection is no step of the
// history, which needs a link of its own; and a link with a mark does not compare neighbours. For
// an alarm any link counts.
static bool counts(const struct link *link, const struct walker *w)
{
    return w->back == 0 || (w->back == 1 ? link->back == 1 : link->back > 0);
}

// Whether the two codes are linked. Codes are compared, not commits: an amended message, a rebase
// and a merge bring the same two codes. A link made at an earlier commit of the same line was
// another change.
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

// A run is judged by its newest commit, which therefore gets whole gates.
static enum gate_use use_of_change(const struct linking *l)
{
    return l->within ? GATE_FOR_CHANGE : GATE_FOR_VERDICT;
}

// Follows a series one code back. *out: that code works, and is not the head's own.
static int follow(bool *out, struct walker *w, const char *code, struct context *context,
                  struct error *err)
{
    if (works(out, w, code, context, err))
        return -1;
    w->over = *out && strcmp(code, w->code) == 0; // it is the head's code, and so no new one
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

// Goes one commit back, to one whose build the store knows.
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

// Passes a commit. The code at the accepted commit is that of the first commit at or before it
// whose build is known.
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

// An alarm is raised also where the line had the head's code before: a slow change may come back
// after its revert.
bool linking_alarms(const struct run *run, const struct result *r, const struct context *context)
{
    const struct drift_policy policy =
        drift_policy_default(context->devices[r->device].policy->kind);
    struct verdict v;
    if (!context_confirms(context, run, r) || r->head.state != MEASURED_OK || !r->head_code[0] ||
        !r->history.count || !strcmp(r->history.newest_code, r->head_code))
        return false;
    drift_judge(&v, &r->history, &r->head, false, &policy);
    return v.kind == VERDICT_SLOWER || v.kind == VERDICT_FASTER;
}

// Plans links for alarms. Commits that are gone from the repository cannot be built, and confirm
// nothing.
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
        struct error edge; // of a shallow clone, where the history begins
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

// Whether a result can be a link: two codes were compared by pairs. A verdict that the change
// itself accepts counts, too.
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

// The number of codes between the two sides of a series.
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
