// SPDX-License-Identifier: Apache-2.0
//
// Puts the stored values of metrics in the order of a line, and finds where they changed.
#include "ci/history/load.h"

#include "baselines/store.h"
#include "ci/settings/metric.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVEL_MOST = 9 };

// ---- the line ----

// Reads HEAD and its first parents, oldest first; a repository without HEAD has no such line.
static void read_line(struct metric_history *h, const struct repository *repository,
                      struct arena *arena)
{
    const struct commit_selection line = {.range = "LINE"};
    struct commit_list list = {0};
    struct error none;
    if (repository_select(&list, repository, &line, arena, &none) == 0) {
        h->line = list.items;
        h->line_count = list.count;
    }
}

// ---- series ----

static bool same_series(const struct metric_value *a, const struct metric_value *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->subject, b->subject) == 0 &&
           strcmp(a->device, b->device) == 0;
}

static int by_place(const void *left, const void *right)
{
    const struct metric_point *a = left, *b = right;
    return (a->at > b->at) - (a->at < b->at);
}

// Reads the values of one series, which stand together. Of several values at one commit the newest
// counts.
static void read_series(struct metric_history *h, const struct metric_value *values, size_t count,
                        const struct id_index *places, struct arena *arena)
{
    h->series = arena_alloc(arena, (count + 1) * sizeof(*h->series));
    for (size_t i = 0, end; i < count; i = end) {
        struct metric_series s = {.of = &values[i]};
        for (end = i + 1; end < count && same_series(&values[i], &values[end]);)
            end++;
        s.points = arena_alloc(arena, (end - i) * sizeof(*s.points));
        for (size_t k = i; k < end; k++) {
            const size_t at = id_find(places, values[k].commit);
            size_t p = 0;
            if (at == SIZE_MAX)
                continue;
            while (p < s.count && s.points[p].at != at)
                p++;
            s.points[p] = (struct metric_point){values[k].value, at};
            s.count += p == s.count;
            s.of = &values[k];
        }
        if (s.count)
            qsort(s.points, s.count, sizeof(*s.points), by_place);
        if (s.count)
            h->series[h->count++] = s;
    }
}

// ---- changes ----

static void add_change(struct metric_history *h, size_t *room, size_t series, size_t point,
                       double before, double after, enum verdict_kind kind)
{
    struct metric_series *s = &h->series[series];
    const size_t at = s->points[point].at;
    h->changes = xgrow(h->changes, h->change_count, room, sizeof(*h->changes));
    h->changes[h->change_count++] = (struct metric_change){.series = series,
                                                           .at = at,
                                                           .commits = at - s->points[point - 1].at,
                                                           .before = before,
                                                           .after = after,
                                                           .kind = kind,
                                                           .state = EVENT_CONFIRMED};
    s->changes++;
}

static enum verdict_kind standing(const struct metric_value *of, double before, double now)
{
    const enum verdict_kind kind = metric_standing(before, now, of->margin, of->least, of->higher);
    return kind == VERDICT_SLOWER || kind == VERDICT_FASTER ? kind : VERDICT_SAME;
}

// The median of the newest values of points[first..end).
static double level_of(const struct metric_series *s, size_t first, size_t end)
{
    double values[LEVEL_MOST];
    size_t count = 0;
    for (size_t i = end; i > first && count < LEVEL_MOST; i--)
        values[count++] = s->points[i - 1].value;
    return robust_median(values, count);
}

static void find_changes(struct metric_history *h, size_t *room, size_t index)
{
    const struct metric_series *s = &h->series[index];
    size_t since = 0; // the first point of the level
    for (size_t i = 1; i < s->count; i++) {
        const double before = s->of->noisy ? level_of(s, since, i) : s->points[since].value;
        const double now = s->points[i].value;
        const enum verdict_kind kind = standing(s->of, before, now);
        const bool stays =
            !s->of->noisy ||
            (i + 1 < s->count && standing(s->of, before, s->points[i + 1].value) == kind);
        if (kind == VERDICT_SAME || !stays)
            continue;
        add_change(h, room, index, i, before, now, kind);
        since = i;
    }
}

// ---- what people decided ----

// Whether an epoch accepts a change: it accepts the value that the series had reached by the
// epoch's commit. If the line does not have that commit, it accepts a change no larger than it
// says.
static bool accepts(const struct epoch *e, const struct metric_history *h,
                    const struct metric_change *c, const struct id_index *places)
{
    const struct metric_value *of = h->series[c->series].of;
    const size_t at = id_find(places, e->commit);
    if (e->removed || !metric_epoch_matches(e, of->subject, of->name, of->device))
        return false;
    return at != SIZE_MAX ? c->at <= at
                          : metric_worse_by(c->before, c->after, of->higher) <=
                                e->level + log1p(of->margin) / 2 + 1e-9;
}

// Whether a later change took this one back.
static bool is_undone(const struct metric_history *h, const struct metric_change *c)
{
    const struct metric_value *of = h->series[c->series].of;
    for (size_t i = 0; i < h->change_count; i++) {
        const struct metric_change *later = &h->changes[i];
        if (later->series == c->series && later->at > c->at &&
            standing(of, c->before, later->after) != VERDICT_SLOWER)
            return true;
    }
    return false;
}

static void decide(struct metric_history *h, struct metric_change *c,
                   const struct epoch_list *epochs, const struct id_index *places,
                   const char *event, struct arena *arena)
{
    if (c->kind == VERDICT_SLOWER && is_undone(h, c))
        c->state = EVENT_FIXED;
    for (size_t i = 0; c->kind == VERDICT_SLOWER && i < epochs->count; i++) {
        if (accepts(&epochs->epochs[i], h, c, places)) {
            c->state = EVENT_ACCEPTED;
            c->why = arena_printf(arena, "%s: %s", epochs->epochs[i].who, epochs->epochs[i].reason);
        }
    }
    for (size_t i = 0; i < epochs->decision_count; i++) {
        const struct epoch_decision *d = &epochs->decisions[i];
        if (!d->taken && strcmp(d->event, event) == 0) {
            c->state = d->state;
            c->why = arena_printf(arena, "%s: %s", d->who, d->reason);
        }
    }
}

// ---- events ----

static int newest_first(const void *left, const void *right)
{
    const struct metric_change *a = left, *b = right;
    if (a->at != b->at)
        return a->at < b->at ? 1 : -1;
    return (a->series > b->series) - (a->series < b->series);
}

// Makes events. The state of an event is that of the change for the worse that is most open.
static void make_events(struct metric_history *h, const struct epoch_list *epochs,
                        const struct id_index *places, struct arena *arena)
{
    h->events = arena_alloc(arena, (h->change_count + 1) * sizeof(*h->events));
    for (size_t i = 0, end; i < h->change_count; i = end) {
        struct metric_event *e = &h->events[h->event_count++];
        bool open = false;
        *e = (struct metric_event){.first = i};
        snprintf(e->name, sizeof(e->name), "%.10s-metrics", h->line[h->changes[i].at].id);
        for (end = i; end < h->change_count && h->changes[end].at == h->changes[i].at; end++) {
            struct metric_change *c = &h->changes[end];
            decide(h, c, epochs, places, e->name, arena);
            e->state = open ? e->state : c->state;
            open |= c->kind == VERDICT_SLOWER && c->state == EVENT_CONFIRMED;
        }
        e->count = end - i;
        if (event_is_open(e->state))
            e->taken = epoch_taken(epochs, e->name);
    }
}

int metric_history_load(struct metric_history *out, struct store *store,
                        const struct repository *repository, const struct epoch_list *epochs,
                        struct arena *arena, struct error *err)
{
    struct metric_history h = {0};
    struct metric_value *values;
    size_t count = 0, room = 0;
    if (store_metric_values(&values, &count, store, arena, err))
        return -1;
    if (count && repository)
        read_line(&h, repository, arena);
    if (count && !h.line_count && store_commits(&h.line, &h.line_count, store, arena, err))
        return -1;
    const struct id_index places = h.line_count
                                       ? id_index(h.line->id, sizeof(*h.line), h.line_count, arena)
                                       : (struct id_index){0};
    read_series(&h, values, count, &places, arena);
    for (size_t i = 0; i < h.count; i++)
        find_changes(&h, &room, i);
    struct metric_change *found = h.changes;
    h.changes = arena_copy(arena, found, h.change_count * sizeof(*found));
    free(found);
    if (h.change_count)
        qsort(h.changes, h.change_count, sizeof(*h.changes), newest_first);
    make_events(&h, epochs, &places, arena);
    *out = h;
    return 0;
}

const struct metric_event *metric_history_event(const struct metric_history *h, const char *name)
{
    const struct metric_event *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < h->event_count; i++) {
        if (name[0] && strncmp(h->events[i].name, name, strlen(name)) == 0) {
            found = &h->events[i];
            count++;
        }
    }
    return count == 1 ? found : NULL;
}

// ---- words ----

const char *metric_change_text(const struct metric_history *h, const struct metric_change *c,
                               struct arena *arena)
{
    const struct metric_value *of = h->series[c->series].of;
    const char *change =
        c->before > 0 ? arena_printf(arena, " (%+.2f %%)", 100 * (c->after / c->before - 1)) : "";
    const bool whole = strcmp(of->subject, "build") == 0;
    return arena_printf(arena, "%s%s%s %s: %s -> %s%s", of->name, whole ? "" : " of ",
                        whole ? "" : of->subject, metric_word(c->kind),
                        metric_value_text(c->before, "", arena),
                        metric_value_text(c->after, of->unit, arena), change);
}

const char *metric_event_sentence(const struct metric_history *h, const struct metric_event *e,
                                  struct arena *arena)
{
    const struct metric_change *changes = &h->changes[e->first];
    size_t first = 0;
    while (first < e->count && changes[first].kind != VERDICT_SLOWER)
        first++;
    const char *text = metric_change_text(h, &changes[first < e->count ? first : 0], arena);
    return e->count == 1 ? text : arena_printf(arena, "%s and %zu more", text, e->count - 1);
}

bool metric_event_is_open(const struct metric_history *h, const struct metric_event *e)
{
    bool open = false;
    for (size_t i = e->first; i < e->first + e->count; i++)
        open |= h->changes[i].kind == VERDICT_SLOWER && h->changes[i].state == EVENT_CONFIRMED;
    return open;
}
