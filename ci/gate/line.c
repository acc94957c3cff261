// SPDX-License-Identifier: Apache-2.0
//
// The line is kept from one commit to the next: a backfill goes up it. Builds of its commits are
// looked up when they are asked for.
#include "ci/gate/line.h"

#include "ci/gate/built.h"

#include <stdlib.h>
#include <string.h>

enum {
    LINE_MOST = 4096,   // commits that a line is followed back
    BUILDS_MOST = 1024, // and those of which builds are looked up
    POINTS_MOST = 4096  // points that are read where the newest do not say it
};

struct line_commit {
    struct commit commit;
    struct build_record build;
    bool asked, found; // whether it was looked up, and is known
};

struct line {
    struct line_commit *items; // oldest first; the last is the head
    size_t count;
    struct id_index names;
    const char *recipe; // of the builds
    bool whole;         // the first is a root
};

// ---- the commits ----

// The line of `head`, on from that of the last one where it goes on from there.
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

// The kernel's code at a commit of the line; NULL: not known.
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

// A point with where it counts: a commit of the line; SIZE_MAX: nowhere.
struct placed {
    struct stored_point point;
    const char *code; // "" unknown
    size_t place, order;
    bool own; // it was measured there
};

struct past {
    const struct line *line;
    struct run *run;
    const struct result *r;
    const struct series *series;
    struct context *context;
    struct placed *items;
    size_t count;
    const char *code; // the one before; NULL: none is known
    size_t before;    // where it is
};

static bool measured(const struct past *p, const char *code)
{
    bool found = false;
    for (size_t i = 0; code && i < p->count && !found; i++)
        found = strcmp(p->items[i].code, code) == 0;
    return found;
}

// The code of the newest point that was measured at a commit; NULL: none was.
static const char *own_code_at(const struct past *p, size_t at)
{
    for (size_t i = p->count; i-- > 0;) {
        if (p->items[i].own && p->items[i].place == at && p->items[i].code[0])
            return p->items[i].code;
    }
    return NULL;
}

// The nearest commit before the head whose code has a time, wherever that was measured.
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

// Where points of other branches count: at the nearest commit before the head that has their code.
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

// The code before may have come back, and was not measured there: its times of before count.
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

// For commits older than the known part of the line, the date says which came first.
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

// The repository knows one of their commits: it is no import.
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

// Keeps the points that count, in their order. The head's own points count only where the code
// before it is its own, too, or is not known.
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

// Some are of no commit of the line.
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
        p.items[i].place = 0; // in the order of dates
    if (ours && find_before(&p, err))
        return -1;
    // Dates hide some of them: a branch measured later what the line has, or measured very much.
    if (ours && (!p.code || strays(&p))) {
        if (read_points(&stored, &p, NULL, POINTS_MOST, err) || take(&p, &stored, err) ||
            find_before(&p, err) || adopt(&p, err))
            return -1;
    }
    bring_back(&p);
    settle(out, &p, limit);
    return 0;
}
