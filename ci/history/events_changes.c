// SPDX-License-Identifier: Apache-2.0
//
// Changes from three sources: links, which are of the code; change points of absolute times, which
// are of the code only where nothing was measured side by side; the controls' common mode, which
// the series themselves do not show, because it is taken off them.
#include "ci/history/events_changes.h"

#include "ci/history/drivers.h"
#include "ci/history/link_tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct finding {
    const struct history_set *set;
    struct found_changes found;
    size_t room;
    struct arena *arena;
};

static void add(struct finding *f, const struct event_change *change,
                const struct timeline_stretch *stretch, const char *at)
{
    f->found.items = xgrow(f->found.items, f->found.count, &f->room, sizeof(*f->found.items));
    f->found.items[f->found.count++] = (struct found_change){*change, *stretch, at, 0};
}

static size_t device_of(const struct history_set *set, const char *uuid)
{
    size_t d = 0;
    while (d < set->count && strcmp(set->series[d].series->device_uuid, uuid) != 0)
        d++;
    return d;
}

// ---- links, and change points ----

static void add_linked(struct finding *f, size_t i, const struct link_tests *tests)
{
    const struct series_history *s = &f->set->series[i];
    for (size_t k = 0; k < s->linked.change_count; k++) {
        const struct linked_change *c = &s->linked.changes[k];
        const struct kept_test *test = link_tests_find(tests, c->link);
        const struct event_change change = {.series = i,
                                            .device = device_of(f->set, s->series->device_uuid),
                                            .size = c->size,
                                            .log_evidence = test ? test->log_evidence : c->evidence,
                                            .paired = true,
                                            .confirmed =
                                                test && test->discovered && c->sure && !c->misfit,
                                            .back = c->back,
                                            .levelled = isfinite(c->left),
                                            .left = c->left,
                                            .cause = ATTRIBUTION_KERNEL};
        add(f, &change, &(struct timeline_stretch){c->base.id, "", c->at.id}, c->at.id);
        f->found.items[f->found.count - 1].link = c->link;
    }
}

// Where the codes were compared side by side, absolute times have nothing to say of them; and where
// the code is the same, one series alone that moved is a process that lay elsewhere.
static bool counts(const struct series_history *s, const struct history_change *c)
{
    return c->shared || (!s->linked.neighbours && !history_is_linked(&s->linked, c) &&
                         c->attribution != ATTRIBUTION_ENVIRONMENT);
}

static void add_points(struct finding *f, size_t i)
{
    const struct series_history *s = &f->set->series[i];
    for (size_t k = 0; k < s->change_count; k++) {
        const struct history_change *c = &s->changes[k];
        if (!counts(s, c))
            continue;
        const struct event_change change = {.series = i,
                                            .device = device_of(f->set, s->series->device_uuid),
                                            .size = c->change.size,
                                            .log_evidence = c->change.evidence,
                                            .confirmed = !c->newest,
                                            .cause = c->attribution,
                                            .what = c->what};
        add(f, &change, &(struct timeline_stretch){"", c->earliest.id, c->latest.id}, c->at.id);
    }
}

// ---- the controls ----

// Drivers and runtimes that changed where the controls moved are why.
static const char *break_between(const struct finding *f, const char *uuid,
                                 const struct history_commit *commits, const struct change *c)
{
    for (size_t i = 0; i < f->set->count; i++) {
        const struct series_history *s = &f->set->series[i];
        if (strcmp(s->series->device_uuid, uuid) != 0)
            continue;
        for (size_t k = 0; k < s->break_count; k++) {
            const struct history_break *b = &s->breaks[k];
            for (size_t at = c->earliest; at <= c->latest; at++) {
                if (!b->model && !b->device && strcmp(b->at.id, commits[at].id) == 0)
                    return b->what;
            }
        }
    }
    return NULL;
}

// How surely it was the driver: runs under one differ too, and by more than the points of a change
// let one think that are many in few runs.
static struct interval size_of(const struct change *c, const char *what,
                               const struct driver_steps *drivers)
{
    for (size_t i = 0; what && i < drivers->count; i++) {
        const struct driver_step *d = &drivers->items[i];
        char name[256];
        snprintf(name, sizeof(name), "driver %.100s -> %.100s", d->from, d->to);
        if (strcmp(name, what) == 0 && isfinite(d->shift.size.low) && isfinite(d->shift.size.high))
            return d->shift.size;
    }
    return c->size;
}

// What moves the controls moves every series of the device.
static void add_shift(struct finding *f, const struct common_mode *mode, const struct change *c,
                      const struct driver_steps *drivers)
{
    const char *what = break_between(f, mode->device_uuid, mode->commits, c);
    const struct timeline_stretch stretch = {"", mode->commits[c->earliest].id,
                                             mode->commits[c->latest].id};
    struct event_change change = {.device = device_of(f->set, mode->device_uuid),
                                  .size = size_of(c, what, drivers),
                                  .log_evidence = c->evidence,
                                  .confirmed = true,
                                  .cause = what ? ATTRIBUTION_BREAK : ATTRIBUTION_ENVIRONMENT};
    change.what = what ? what
                       : arena_printf(f->arena, "its controls moved by %+.1f %% from run %lld on",
                                      100 * expm1(c->size.value), (long long)mode->runs[c->index]);
    for (size_t i = 0; i < f->set->count; i++) {
        change.series = i;
        if (strcmp(f->set->series[i].series->device_uuid, mode->device_uuid) == 0)
            add(f, &change, &stretch, mode->commits[c->index].id);
    }
}

static int add_device(struct finding *f, struct store *store, const char *uuid, struct error *err)
{
    struct common_mode mode;
    struct changepoints moved;
    struct series_entry *entries;
    struct driver_steps drivers = {0};
    const struct history_wanted wanted = {.device = uuid};
    const struct history_query all = {0};
    size_t known;
    int status = 0;
    if (store_list_series(&entries, &known, store, f->arena, err) ||
        history_common_mode(&mode, store, entries, known, uuid, &all, f->arena, err))
        return -1;
    changepoints_find(&moved, mode.shifts, mode.count, NULL);
    if (moved.count)
        status = drivers_find(&drivers, store, &wanted, true, f->arena, err);
    for (size_t i = 0; status == 0 && i < moved.count; i++) {
        if (fabs(moved.changes[i].size.value) >= history_defaults.margin)
            add_shift(f, &mode, &moved.changes[i], &drivers);
    }
    changepoints_free(&moved);
    return status;
}

// ---- all ----

static int find_all(struct finding *f, struct store *store, struct error *err)
{
    struct link_tests tests;
    if (link_tests_read(&tests, store, f->set->judgements != NULL, f->arena, err))
        return -1;
    for (size_t i = 0; i < f->set->count; i++) {
        const char *uuid = f->set->series[i].series->device_uuid;
        add_linked(f, i, &tests);
        add_points(f, i);
        if (device_of(f->set, uuid) == i && add_device(f, store, uuid, err))
            return -1;
    }
    return 0;
}

int events_find(struct found_changes *out, const struct history_set *set, struct store *store,
                struct arena *arena, struct error *err)
{
    struct finding f = {.set = set, .arena = arena};
    const int status = find_all(&f, store, err);
    if (status == 0)
        *out = (struct found_changes){
            arena_copy(arena, f.found.items, f.found.count * sizeof(*f.found.items)),
            f.found.count};
    free(f.found.items);
    return status;
}
