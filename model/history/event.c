// SPDX-License-Identifier: Apache-2.0
//
// Changes gathered into events by the commits that they may have begun with.
#include "model/history/event.h"

#include "model/base.h"
#include "model/result.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- attribution ----
//
// An attribution says what the series that changed together have in common: a kernel, a class, a
// device or a model. It is made from changes that were found before.

static const char *const pattern_names[ATTRIBUTIONS] = {
    [ATTRIBUTION_NONE] = "none",
    [ATTRIBUTION_KERNEL] = "kernel",
    [ATTRIBUTION_MEMORY] = "memory",
    [ATTRIBUTION_POWER] = "power",
    [ATTRIBUTION_ENVIRONMENT] = "environment",
    [ATTRIBUTION_MODEL] = "model",
    [ATTRIBUTION_BREAK] = "break",
};

enum { FEWEST = 3 };

static const double most = 0.8;

static const double calm = 0.2;

const char *attribution_name(enum attribution attribution)
{
    assert((unsigned)attribution < ATTRIBUTIONS);
    return pattern_names[attribution];
}

struct moved_tally {
    size_t count, slower, faster;
    size_t old_slower, old_faster; // those whose code is not new, or not known
};

static void tally_add(struct moved_tally *tally, const struct attribution_series *s)
{
    tally->count++;
    tally->slower += s->changed && s->size > 0;
    tally->faster += s->changed && s->size < 0;
    const bool old = !(s->code_changed && s->code_known);
    tally->old_slower += s->changed && s->size > 0 && old;
    tally->old_faster += s->changed && s->size < 0 && old;
}

static size_t moved(const struct moved_tally *tally)
{
    return tally->slower + tally->faster;
}

static bool together(const struct moved_tally *tally, double size)
{
    const size_t same = size > 0 ? tally->slower : tally->faster;
    const size_t old = size > 0 ? tally->old_slower : tally->old_faster;
    return old > 0 && same >= FEWEST && (double)same >= most * (double)tally->count;
}

// The movements of all series that share something with one series: its device, the limit that
// bounds it, or its model.
struct company {
    struct moved_tally device, class, others, model;
};

static struct company company_of(const struct attribution_series *one,
                                 const struct attribution_series *series, size_t count)
{
    struct company company = {0};
    for (size_t i = 0; i < count; i++) {
        const struct attribution_series *s = &series[i];
        if (s->model_changed && !s->code_changed)
            tally_add(&company.model, s);
        if (s->device != one->device)
            continue;
        tally_add(&company.device, s);
        tally_add(s->bound == one->bound ? &company.class : &company.others, s);
    }
    return company;
}

static enum attribution judge(const struct attribution_series *one, const struct company *company)
{
    if (one->model_changed && !one->code_changed &&
        (double)moved(&company->model) >= most * (double)company->model.count)
        return ATTRIBUTION_MODEL;
    bool alone = company->others.count > 0 &&
                 (double)moved(&company->others) <= calm * (double)company->others.count;
    if (alone && together(&company->class, one->size)) {
        if (one->bound == BOUND_MEMORY)
            return ATTRIBUTION_MEMORY;
        if (one->bound == BOUND_COMPUTE)
            return ATTRIBUTION_POWER;
    }
    return together(&company->device, one->size) ? ATTRIBUTION_ENVIRONMENT : ATTRIBUTION_KERNEL;
}

void attribution_find(enum attribution *out, const struct attribution_series *series, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = ATTRIBUTION_NONE;
        if (!series[i].changed)
            continue;
        const struct company company = company_of(&series[i], series, count);
        out[i] = judge(&series[i], &company);
    }
}

static const char *const names[EVENT_STATES] = {
    [EVENT_NEW] = "new",     [EVENT_CONFIRMED] = "confirmed", [EVENT_ACCEPTED] = "accepted",
    [EVENT_FIXED] = "fixed", [EVENT_DISMISSED] = "dismissed", [EVENT_WITHDRAWN] = "withdrawn",
};

const char *event_state_name(enum event_state state)
{
    assert((unsigned)state < EVENT_STATES);
    return names[state];
}

int event_state_parse(enum event_state *out, const char *text)
{
    for (int i = 0; i < EVENT_STATES; i++) {
        if (strcmp(names[i], text) == 0) {
            *out = (enum event_state)i;
            return 0;
        }
    }
    return -1;
}

bool event_is_open(enum event_state state)
{
    return state == EVENT_NEW || state == EVENT_CONFIRMED;
}

// ---- which changes may have one cause ----

static enum attribution cause_of(const struct event_change *c)
{
    return c->cause == ATTRIBUTION_NONE ? ATTRIBUTION_KERNEL : c->cause;
}

static bool of_device(enum attribution cause)
{
    return cause != ATTRIBUTION_KERNEL && cause != ATTRIBUTION_MODEL;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

struct event_group {
    struct event event;
    const struct event_change **members;
    size_t count, room;
    size_t at;   // the likeliest commit of the first member, which is known best
    size_t next; // index + 1 of the group that begins with the same commit
};

static bool has_series(const struct event_group *g, size_t series)
{
    for (size_t i = 0; i < g->count; i++) {
        if (g->members[i]->series == series)
            return true;
    }
    return false;
}

static bool may_join(const struct event_group *g, const struct event_change *c)
{
    const struct event *e = &g->event;
    return c->first <= e->last && c->last >= e->first && cause_of(c) == e->cause &&
           (!of_device(e->cause) || c->device == e->device) &&
           (e->cause == ATTRIBUTION_KERNEL || same_text(c->what, e->what)) &&
           !has_series(g, c->series);
}

static size_t distance(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

static void join(struct event_group *g, const struct event_change *c)
{
    g->members = xgrow(g->members, g->count, &g->room, sizeof(*g->members));
    g->members[g->count++] = c;
    g->event.first = c->first > g->event.first ? c->first : g->event.first;
    g->event.last = c->last < g->event.last ? c->last : g->event.last;
    g->event.confirmed |= c->confirmed;
}

// ---- orders ----

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

static int compare_size(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

// Gives the same order whatever order the changes came in.
static int narrowest_first(const void *left, const void *right)
{
    const struct event_change *a = *(const struct event_change *const *)left;
    const struct event_change *b = *(const struct event_change *const *)right;
    const int keys[] = {compare_size(a->last - a->first, b->last - b->first),
                        compare_size(a->at, b->at),
                        compare_size(a->first, b->first),
                        compare(b->log_evidence, a->log_evidence),
                        compare_size(a->series, b->series),
                        compare(a->size.value, b->size.value)};
    size_t i = 0;
    while (i + 1 < ARRAY_COUNT(keys) && keys[i] == 0)
        i++;
    return keys[i];
}

static int largest_first(const void *left, const void *right)
{
    const struct event_change *a = left, *b = right;
    const int size = compare(fabs(b->size.value), fabs(a->size.value));
    return size ? size : compare_size(a->series, b->series);
}

static int newest_first(const void *left, const void *right)
{
    const struct event *a = &((const struct event_group *)left)->event;
    const struct event *b = &((const struct event_group *)right)->event;
    const int keys[] = {compare_size(b->last, a->last),
                        compare_size(b->count, a->count),
                        compare_size(b->first, a->first),
                        (int)a->cause - (int)b->cause,
                        compare_size(a->device, b->device),
                        compare_size(a->changes[0].series, b->changes[0].series)};
    size_t i = 0;
    while (i + 1 < ARRAY_COUNT(keys) && keys[i] == 0)
        i++;
    return keys[i];
}

// ---- culprits ----

struct suspect {
    size_t at;
    double evidence; // of the changes that most likely began at this commit
};

static int most_likely_first(const void *left, const void *right)
{
    const struct suspect *a = left, *b = right;
    const int evidence = compare(b->evidence, a->evidence);
    return evidence ? evidence : compare_size(b->at, a->at); // among equals the newer one first
}

static void rank(struct event *e, struct arena *arena)
{
    const size_t count = e->last - e->first + 1;
    size_t *culprits = arena_alloc(arena, count * sizeof(*culprits));
    struct suspect *suspects = xcalloc(count, sizeof(*suspects));
    for (size_t i = 0; i < count; i++)
        suspects[i].at = e->first + i;
    for (size_t i = 0; i < e->count; i++) {
        const struct event_change *c = &e->changes[i];
        if (c->at >= e->first && c->at <= e->last)
            suspects[c->at - e->first].evidence += fmax(c->log_evidence, 0);
    }
    qsort(suspects, count, sizeof(*suspects), most_likely_first);
    for (size_t i = 0; i < count; i++)
        culprits[i] = suspects[i].at;
    free(suspects);
    e->culprits = culprits;
    e->culprit_count = count;
}

static void finish(struct event_group *g, struct arena *arena)
{
    struct event_change *changes = arena_alloc(arena, g->count * sizeof(*changes));
    for (size_t i = 0; i < g->count; i++)
        changes[i] = *g->members[i];
    qsort(changes, g->count, sizeof(*changes), largest_first);
    free(g->members);
    g->event.changes = changes;
    g->event.count = g->count;
    rank(&g->event, arena);
}

// ---- all ----

struct event_groups {
    struct event_group *groups;
    size_t count, room;
    size_t *begins; // for each commit, index + 1 of the newest group whose first member begins with
                    // it
};

// Whether a group is nearer; among equals the first one is taken.
static bool is_nearer(const struct event_group *a, const struct event_group *b,
                      const struct event_change *c)
{
    const size_t x = distance(a->at, c->at), y = distance(b->at, c->at);
    return x < y || (x == y && a < b);
}

// Finds the group that a change joins. Changes come narrowest first, so no group is wider than this
// one, and a group that it meets begins at most its own width before it.
static struct event_group *group_for(const struct event_groups *all, const struct event_change *c)
{
    const size_t width = c->last - c->first;
    struct event_group *best = NULL;
    for (size_t at = c->first > width ? c->first - width : 0; at <= c->last; at++) {
        for (size_t i = all->begins[at]; i; i = all->groups[i - 1].next) {
            struct event_group *g = &all->groups[i - 1];
            if (may_join(g, c) && (!best || is_nearer(g, best, c)))
                best = g;
        }
    }
    return best;
}

static struct event_group *begin_group(struct event_groups *all, const struct event_change *c)
{
    const enum attribution cause = cause_of(c);
    all->groups = xgrow(all->groups, all->count, &all->room, sizeof(*all->groups));
    struct event_group *g = &all->groups[all->count++];
    *g = (struct event_group){.event = {.cause = cause,
                                        .what = c->what,
                                        .device = of_device(cause) ? c->device : SIZE_MAX,
                                        .first = c->first,
                                        .last = c->last},
                              .at = c->at,
                              .next = all->begins[c->first]};
    all->begins[c->first] = all->count;
    return g;
}

void event_group(struct event_list *out, const struct event_change *changes, size_t count,
                 struct arena *arena)
{
    const struct event_change **order = xcalloc(count + 1, sizeof(*order));
    struct event_groups all = {0};
    size_t last = 0;
    for (size_t i = 0; i < count; i++) {
        assert(changes[i].first <= changes[i].last);
        order[i] = &changes[i];
        last = changes[i].last > last ? changes[i].last : last;
    }
    all.begins = xcalloc(last + 1, sizeof(*all.begins));
    qsort(order, count, sizeof(*order), narrowest_first);
    for (size_t i = 0; i < count; i++) {
        struct event_group *g = group_for(&all, order[i]);
        join(g ? g : begin_group(&all, order[i]), order[i]);
    }
    for (size_t i = 0; i < all.count; i++)
        finish(&all.groups[i], arena);
    if (all.count)
        qsort(all.groups, all.count, sizeof(*all.groups), newest_first);
    *out =
        (struct event_list){arena_alloc(arena, (all.count + 1) * sizeof(*out->events)), all.count};
    for (size_t i = 0; i < all.count; i++)
        out->events[i] = all.groups[i].event;
    free(all.begins);
    free(all.groups);
    free(order);
}

const struct event_change *event_largest(const struct event *event)
{
    assert(event->count);
    return &event->changes[0];
}

bool event_is_slowdown(const struct event *e)
{
    bool slower = false;
    for (size_t i = 0; i < e->count; i++) {
        const struct event_change *c = &e->changes[i];
        const bool sure = c->paired || c->told || e->state == EVENT_CONFIRMED;
        slower |= sure && c->size.value > 0 && !(c->levelled && c->left <= c->size.value / 4);
    }
    return slower && e->cause == ATTRIBUTION_KERNEL && event_is_open(e->state);
}
