// SPDX-License-Identifier: Apache-2.0
//
// Events as they are found now and as they were reported before. Both are the same event when they
// have a series in common whose ranges of commits meet; then the name stays. The tool's own word of
// an event is kept in the store, a person's in the epochs file (events_decided.h), and that counts.
#include "ci/history/events_kept.h"

#include "ci/history/events_decided.h"
#include "ci/history/events_index.h"
#include "model/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct remembering {
    struct events *events;
    const struct history_set *set;
    struct store *store;
    const struct events_asked *asked;
    struct stored_event *stored;
    size_t stored_count;
    bool *found;              // of the stored ones
    struct event_index index; // of all events, withdrawn ones too
    const char **names;       // taken, by hash
    size_t name_room;         // a power of two
    struct arena *arena;
};

// ---- which is which ----

static size_t index_of(const struct history_set *set, int64_t series)
{
    size_t i = 0;
    while (i < set->count && set->series[i].series->key != series)
        i++;
    return i;
}

// Both of one series.
static bool meets(const struct remembering *r, const struct stored_event_change *s,
                  const struct event_change *c)
{
    const struct timeline *t = &r->events->timeline;
    const size_t first = timeline_find(t, s->first), last = timeline_find(t, s->last);
    return last != SIZE_MAX && (first == SIZE_MAX ? last : first) <= c->last && last >= c->first;
}

// Each that was reported becomes the one that has most of it.
static void recognise(struct remembering *r)
{
    struct events *events = r->events;
    size_t *shared = xcalloc(events->list.count + 1, sizeof(*shared));
    struct event_index index;
    event_index_make(&index, &events->list, r->set->count, r->arena);
    for (size_t i = 0; i < r->stored_count; i++) {
        const struct stored_event *s = &r->stored[i];
        size_t best = SIZE_MAX;
        memset(shared, 0, events->list.count * sizeof(*shared));
        for (size_t k = 0; k < s->change_count; k++) {
            const size_t series = index_of(r->set, s->changes[k].series);
            for (size_t t = series < r->set->count ? index.begin[series] : 0;
                 series < r->set->count && t < index.begin[series + 1]; t++)
                shared[index.touches[t].event] += meets(r, &s->changes[k], index.touches[t].change);
        }
        for (size_t k = 0; k < events->list.count; k++) {
            if (shared[k] && !events->stored[k] && events->list.events[k].cause == s->cause &&
                (best == SIZE_MAX || shared[k] > shared[best]))
                best = k;
        }
        r->found[i] = best != SIZE_MAX;
        if (best != SIZE_MAX)
            events->stored[best] = &r->stored[i];
    }
    free(shared);
}

// ---- names ----

// Room for every name that there can be, twice over, so that a search soon meets an empty place.
static void names_make(struct remembering *r)
{
    const size_t most = r->stored_count + r->events->list.count + 1;
    for (r->name_room = 4; r->name_room < 2 * most;)
        r->name_room *= 2;
    r->names = arena_alloc(r->arena, r->name_room * sizeof(*r->names));
}

// True when it was there already; `name` stays where it is.
static bool name_add(struct remembering *r, const char *name)
{
    size_t at = hash_text(HASH_START, name) & (r->name_room - 1);
    for (; r->names[at]; at = (at + 1) & (r->name_room - 1)) {
        if (strcmp(r->names[at], name) == 0)
            return true;
    }
    r->names[at] = name;
    return false;
}

// The commit that it most likely began with; what is no commit's says so.
static void name_event(struct remembering *r, struct event *e)
{
    const char *cause = e->cause == ATTRIBUTION_KERNEL ? "" : attribution_name(e->cause);
    bool taken = true;
    for (int n = 1; taken; n++) {
        char number[16] = "";
        if (n > 1)
            snprintf(number, sizeof(number), "-%d", n);
        snprintf(e->name, sizeof(e->name), "%.10s%s%.12s%s", e->commits[0].id, *cause ? "-" : "",
                 cause, number);
        taken = name_add(r, e->name);
    }
}

// ---- withdrawn ----

static struct event of_stored(const struct remembering *r, const struct stored_event *s)
{
    const struct timeline *t = &r->events->timeline;
    struct event_change *changes = arena_alloc(r->arena, (s->change_count + 1) * sizeof(*changes));
    struct event e = {.cause = s->cause,
                      .what = s->what[0] ? s->what : NULL,
                      .device = SIZE_MAX,
                      .changes = changes};
    for (size_t i = 0; i < s->change_count; i++) {
        const struct stored_event_change *c = &s->changes[i];
        const size_t series = index_of(r->set, c->series), last = timeline_find(t, c->last);
        const size_t first = timeline_find(t, c->first);
        if (series == r->set->count || last == SIZE_MAX)
            continue;
        e.last = e.count && e.last < last ? e.last : last;
        changes[e.count++] = (struct event_change){.series = series,
                                                   .first = first == SIZE_MAX ? last : first,
                                                   .last = last,
                                                   .at = last,
                                                   .size = {c->log_ratio, NAN, NAN},
                                                   .log_evidence = c->log_evidence,
                                                   .cause = s->cause};
    }
    e.first = e.last;
    return e;
}

static void add_withdrawn(struct remembering *r)
{
    struct event_list *list = &r->events->list;
    size_t room = list->count + r->stored_count + 1;
    struct event *all = arena_alloc(r->arena, room * sizeof(*all));
    struct stored_event **stored = arena_alloc(r->arena, room * sizeof(*stored));
    memcpy(all, list->events, list->count * sizeof(*all));
    memcpy(stored, r->events->stored, list->count * sizeof(*stored));
    for (size_t i = 0; i < r->stored_count; i++) {
        struct event e = of_stored(r, &r->stored[i]);
        if (r->found[i] || e.count == 0)
            continue;
        struct event_commit *commit = arena_alloc(r->arena, sizeof(*commit));
        size_t *culprit = arena_alloc(r->arena, sizeof(*culprit));
        const struct commit *c = &r->events->timeline.commits[e.last];
        *culprit = e.last;
        *commit =
            (struct event_commit){.time_s = c->time_s, .summary = c->summary, .author = c->author};
        text_copy(commit->id, sizeof(commit->id), c->id);
        e.culprits = culprit;
        e.commits = commit;
        e.culprit_count = 1;
        e.state = EVENT_WITHDRAWN;
        stored[list->count] = &r->stored[i];
        all[list->count++] = e;
    }
    list->events = all;
    r->events->stored = stored;
}

// ---- what became of it ----

// A series is back when less than a quarter of it is left: in the newest code, where links lead
// there; else after later changes.
static bool is_undone(const struct remembering *r, const struct event *e,
                      const struct event_change *c)
{
    double left = c->size.value;
    if (c->levelled)
        return c->left <= c->size.value / 4;
    for (size_t t = r->index.begin[c->series]; t < r->index.begin[c->series + 1]; t++) {
        const struct event *other = &r->events->list.events[r->index.touches[t].event];
        const struct event_change *o = r->index.touches[t].change;
        if (other != e && other->state != EVENT_WITHDRAWN && o->first > c->last)
            left += o->size.value;
    }
    return left <= c->size.value / 4;
}

static bool is_fixed(const struct remembering *r, const struct event *e)
{
    size_t slower = 0, undone = 0;
    for (size_t i = 0; i < e->count; i++) {
        slower += e->changes[i].size.value > 0;
        undone += e->changes[i].size.value > 0 && is_undone(r, e, &e->changes[i]);
    }
    return slower > 0 && undone == slower;
}

// It took slowdowns back, to the very code before them, and did nothing else: there is nothing to
// decide. One that takes a gain back, on purpose or by a merge that went wrong, is for a person.
static bool is_revert(const struct event *e)
{
    bool back = true;
    for (size_t i = 0; i < e->count; i++)
        back &= e->changes[i].back && e->changes[i].size.value < 0;
    return back;
}

static bool was(const struct stored_event *s, enum event_state state)
{
    bool found = false;
    for (size_t i = 0; s && i < s->entry_count; i++)
        found |= s->entries[i].state == state;
    return found;
}

// What the tool says of it now, and why. Once confirmed it stays so.
static struct event_entry opinion(const struct remembering *r, const struct event *e,
                                  const struct stored_event *s)
{
    struct event_entry entry = {EVENT_NEW, r->asked->now_s, "plumb " PLUMB_VERSION,
                                "found; the evidence over the whole history does not suffice yet"};
    if (e->state == EVENT_WITHDRAWN) {
        entry.state = EVENT_WITHDRAWN;
        entry.why = "what was measured since, or pruned, does not bear it out";
    } else if (is_fixed(r, e)) {
        entry.state = EVENT_FIXED;
        entry.why = "later changes undo it";
    } else if (is_revert(e)) {
        entry.state = EVENT_FIXED;
        entry.why = "it is an exact revert: the code is one from before, and nothing is slower";
    } else if (e->confirmed || was(s, EVENT_CONFIRMED)) {
        entry.state = EVENT_CONFIRMED;
        entry.why = "the evidence suffices over the whole history";
    }
    return entry;
}

// ---- keeping ----

static int keep(struct remembering *r, const struct event *e, struct stored_event **stored,
                const struct event_entry *now, struct error *err)
{
    const struct timeline *t = &r->events->timeline;
    struct stored_event *s = *stored;
    const bool told = s && s->entry_count && s->entries[s->entry_count - 1].state == now->state;
    struct stored_event fresh = {.cause = e->cause, .what = e->what ? e->what : ""};
    if (!s) {
        s = arena_copy(r->arena, &fresh, sizeof(fresh));
        memcpy(s->name, e->name, sizeof(s->name));
    }
    if (e->state != EVENT_WITHDRAWN) {
        s->changes = arena_alloc(r->arena, e->count * sizeof(*s->changes));
        s->change_count = e->count;
    }
    for (size_t i = 0; e->state != EVENT_WITHDRAWN && i < e->count; i++) {
        const struct event_change *c = &e->changes[i];
        s->changes[i] = (struct stored_event_change){r->set->series[c->series].series->key, "", "",
                                                     c->size.value, c->log_evidence};
        text_copy(s->changes[i].first, OBJECT_ID_TEXT, t->commits[c->first].id);
        text_copy(s->changes[i].last, OBJECT_ID_TEXT, t->commits[c->last].id);
    }
    if (store_save_event(r->store, s, err) ||
        (!told && store_add_event_entry(r->store, s->key, now, err)))
        return -1;
    *stored = s;
    return 0;
}

// A culprit that a search ended with.
static void narrow(struct event *e, const struct stored_event *s)
{
    for (size_t i = 0; s && s->culprit[0] && i < e->culprit_count; i++) {
        if (strcmp(e->commits[i].id, s->culprit) != 0)
            continue;
        e->first = e->last = e->culprits[i];
        e->culprits += i;
        e->commits += i;
        e->culprit_count = 1;
    }
}

static int keep_all(struct remembering *r, const struct event_entry *now, struct error *err)
{
    struct events *events = r->events;
    if (store_begin_batch(r->store, err))
        return -1;
    for (size_t i = 0; i < events->list.count; i++) {
        if (keep(r, &events->list.events[i], &events->stored[i], &now[i], err)) {
            store_cancel_batch(r->store);
            return -1;
        }
    }
    return store_commit_batch(r->store, err);
}

static void settle(struct remembering *r)
{
    struct events *events = r->events;
    struct event_entry *now = xcalloc(events->list.count + 1, sizeof(*now));
    struct error refused;
    event_index_make(&r->index, &events->list, r->set->count, r->arena);
    names_make(r);
    for (size_t i = 0; i < r->stored_count; i++)
        (void)name_add(r, r->stored[i].name);
    for (size_t i = 0; i < events->list.count; i++) {
        struct event *e = &events->list.events[i];
        if (events->stored[i])
            memcpy(e->name, events->stored[i]->name, sizeof(e->name));
    }
    for (size_t i = 0; i < events->list.count; i++) {
        struct event *e = &events->list.events[i];
        if (!e->name[0])
            name_event(r, e);
        narrow(e, events->stored[i]);
        now[i] = opinion(r, e, events->stored[i]);
    }
    if (r->asked->now_s && keep_all(r, now, &refused))
        fprintf(stderr, "plumb: %s; events are not kept\n", refused.text);
    for (size_t i = 0; i < events->list.count; i++)
        events_decide(&events->list.events[i], events->stored[i], &now[i], r->set,
                      &events->timeline, r->arena);
    free(now);
}

int events_remember(struct events *events, const struct history_set *set, struct store *store,
                    const struct events_asked *asked, struct arena *arena, struct error *err)
{
    struct remembering r = {
        .events = events, .set = set, .store = store, .asked = asked, .arena = arena};
    if (store_load_events(&r.stored, &r.stored_count, store, arena, err))
        return -1;
    events->stored = arena_alloc(arena, (events->list.count + 1) * sizeof(*events->stored));
    r.found = arena_alloc(arena, (r.stored_count + 1) * sizeof(*r.found));
    recognise(&r);
    add_withdrawn(&r);
    settle(&r);
    return 0;
}
