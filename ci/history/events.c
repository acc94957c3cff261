// SPDX-License-Identifier: Apache-2.0
//
// Makes events from the changes of histories: gives commits positions, groups the changes, and
// names culprits.
#include "ci/history/events.h"

#include "baselines/judgement.h"
#include "baselines/store.h"
#include "ci/history/history.h"
#include "ci/history/load.h"
#include "ci/settings/policy.h"
#include "model/base.h"
#include "model/history/event.h"
#include "runner/git/repository.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The commits that may have begun a change: those after `base` (full id, or "": after the commit
// before `first` that the store knows), up to `last`.
struct timeline_stretch {
    const char *base, *first, *last;
};

struct event_touch {
    size_t event; // index in the list of events
    const struct event_change *change;
};

struct event_index {
    struct event_touch *touches; // sorted by series, then by the first commit of the change
    size_t *begin;               // for each series the index of its first touch, and one index
                                 // behind the last
};

// A change whose commits are known by their ids. A timeline gives their positions.
struct found_change {
    struct event_change change;
    struct timeline_stretch stretch;
    const char *at; // commit id
    int64_t link;   // the link's key; 0: absolute times show it
};

struct found_changes {
    struct found_change *items;
    size_t count;
};

// ---- commits in one order ----

// The store's commits come in the order of its histories. A stretch is followed back from its last
// commit. A commit on the way that the store does not know is put directly before its child.

enum { STRETCH_MOST = 1024 }; // how many commits back a stretch is followed

struct stop {
    struct commit commit;
    size_t anchor; // the store's commit that it is, or comes before
    size_t before; // how many commits it comes before the anchor
    bool line;
};

struct walk {
    const struct timeline_sources *sources;
    struct stop *stops;
    size_t count, room;
    struct id_index known; // the store's commits, which are the first stops
    struct arena *arena;
};

static void put_in_order(struct walk *w, const struct commit *commit, size_t anchor, size_t before)
{
    w->stops = xgrow(w->stops, w->count, &w->room, sizeof(*w->stops));
    w->stops[w->count++] = (struct stop){*commit, anchor, before, false};
}

// Finds the stop of a commit between: that of an earlier stretch, or a new one.
static struct stop *between(struct walk *w, const struct commit *commit, size_t anchor,
                            size_t before)
{
    for (size_t i = w->known.count; i < w->count; i++) {
        if (strcmp(w->stops[i].commit.id, commit->id) == 0)
            return &w->stops[i];
    }
    put_in_order(w, commit, anchor, before);
    return &w->stops[w->count - 1];
}

// Whether the stretch ends at `id`. Without a base it ends at a commit before `first` that the
// store knows.
static bool ends(const struct timeline_stretch *stretch, bool behind, bool known, const char *id)
{
    return stretch->base[0] ? strcmp(stretch->base, id) == 0 : behind && known;
}

// Whether a commit changes a file that a build reads, relative to its first parent; true if that
// cannot be told.
static bool changes_inputs(const struct walk *w, const struct commit *c)
{
    const struct timeline_sources *s = w->sources;
    for (size_t i = 0; s->repository && c->parent[0] && i < s->path_count; i++) {
        char now[OBJECT_ID_TEXT], before[OBJECT_ID_TEXT];
        struct error unknown;
        if (repository_path_id(now, s->repository, c->id, s->paths[i], &unknown) ||
            repository_path_id(before, s->repository, c->parent, s->paths[i], &unknown) ||
            strcmp(now, before) != 0)
            return true;
    }
    return !s->repository || !s->path_count || !c->parent[0];
}

// The last commit of a stretch. A commit without a run may have the code of another commit's tree;
// it is put after those of the store, by date. NULL: there is none.
static struct stop *last_of(struct walk *w, const char *id)
{
    const size_t at = id_find(&w->known, id);
    struct commit commit;
    struct error gone;
    if (at != SIZE_MAX)
        return &w->stops[at];
    if (!w->sources->repository ||
        repository_commit(&commit, w->sources->repository, id, w->arena, &gone))
        return NULL;
    return between(w, &commit, w->known.count, SIZE_MAX / 2 - (size_t)commit.time_s);
}

// Follows a stretch back. Returns the oldest commit of its line, or NULL if the base was not
// reached.
static const char *follow(struct walk *w, const struct timeline_stretch *stretch)
{
    struct stop *last = last_of(w, stretch->last);
    const char *oldest = stretch->last;
    if (!last)
        return NULL;
    size_t anchor = last->anchor, before = last->before;
    struct commit commit = last->commit;
    last->line = true;
    bool behind = strcmp(commit.id, stretch->first) == 0;
    for (size_t n = 0; n < STRETCH_MOST && commit.parent[0]; n++) {
        struct error edge;
        const size_t next = id_find(&w->known, commit.parent);
        if (ends(stretch, behind, next != SIZE_MAX, commit.parent))
            return oldest;
        bool line = false;
        if (next != SIZE_MAX) {
            anchor = next;
            before = 0;
            commit = w->stops[next].commit;
            line = changes_inputs(w, &commit);
            w->stops[next].line |= line;
        } else if (!w->sources->repository ||
                   repository_parent(&commit, w->sources->repository, &commit, w->arena, &edge)) {
            return NULL;
        } else {
            line = changes_inputs(w, &commit);
            between(w, &commit, anchor, ++before)->line |= line;
        }
        if (line)
            oldest = arena_strdup(w->arena, commit.id);
        behind |= strcmp(commit.id, stretch->first) == 0;
    }
    return NULL;
}

static int in_order(const void *left, const void *right)
{
    const struct stop *a = left, *b = right;
    if (a->anchor != b->anchor)
        return a->anchor < b->anchor ? -1 : 1;
    return a->before > b->before ? -1 : a->before < b->before;
}

// The position of a commit; SIZE_MAX: not known.
static size_t timeline_find(const struct timeline *timeline, const char *id)
{
    return id_find(&timeline->places, id);
}

// Makes the timeline, in the arena. Each stretch is followed back along first parents, and its
// commits get their places.
static int timeline_read(struct timeline *out, struct store *store,
                         const struct timeline_sources *sources,
                         const struct timeline_stretch *stretches, size_t count,
                         struct arena *arena, struct error *err)
{
    struct walk w = {.sources = sources, .arena = arena};
    struct commit *known;
    size_t known_count;
    if (store_commits(&known, &known_count, store, arena, err))
        return -1;
    w.known = id_index(known->id, sizeof(*known), known_count, arena);
    for (size_t i = 0; i < known_count; i++)
        put_in_order(&w, &known[i], i, 0);
    const char **oldest = arena_alloc(arena, (count + 1) * sizeof(*oldest));
    for (size_t i = 0; i < count; i++)
        oldest[i] = follow(&w, &stretches[i]);
    if (w.count)
        qsort(w.stops, w.count, sizeof(*w.stops), in_order);
    *out = (struct timeline){.commits = arena_alloc(arena, (w.count + 1) * sizeof(*out->commits)),
                             .line = arena_alloc(arena, (w.count + 1) * sizeof(*out->line)),
                             .between = arena_alloc(arena, (w.count + 1) * sizeof(*out->between)),
                             .begins = arena_alloc(arena, (count + 1) * sizeof(*out->begins)),
                             .count = w.count};
    for (size_t i = 0; i < w.count; i++) {
        out->commits[i] = w.stops[i].commit;
        out->line[i] = w.stops[i].line;
        out->between[i] = w.stops[i].before > 0;
    }
    free(w.stops);
    out->places = id_index(out->commits->id, sizeof(*out->commits), out->count, arena);
    for (size_t i = 0; i < count; i++)
        out->begins[i] = oldest[i] ? timeline_find(out, oldest[i]) : SIZE_MAX;
    return 0;
}

// ---- finding events by the series that they touch ----

static int by_first(const void *left, const void *right)
{
    const struct event_touch *a = left, *b = right;
    const size_t first[] = {a->change->first, b->change->first};
    return first[0] != first[1] ? (first[0] > first[1]) - (first[0] < first[1])
                                : (a->event > b->event) - (a->event < b->event);
}

// Makes the index in the arena. `series` is their number.
static void event_index_make(struct event_index *out, const struct event_list *list, size_t series,
                             struct arena *arena)
{
    size_t *begin = arena_alloc(arena, (series + 2) * sizeof(*begin));
    size_t total = 0;
    for (size_t i = 0; i < list->count; i++) {
        total += list->events[i].count;
        for (size_t k = 0; k < list->events[i].count; k++)
            begin[list->events[i].changes[k].series + 2]++;
    }
    for (size_t s = 2; s < series + 2; s++)
        begin[s] += begin[s - 1];
    struct event_touch *touches = arena_alloc(arena, (total + 1) * sizeof(*touches));
    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < list->events[i].count; k++) {
            const struct event_change *c = &list->events[i].changes[k];
            touches[begin[c->series + 1]++] = (struct event_touch){i, c};
        }
    }
    for (size_t s = 0; s < series; s++) {
        if (begin[s + 1] > begin[s])
            qsort(touches + begin[s], begin[s + 1] - begin[s], sizeof(*touches), by_first);
    }
    *out = (struct event_index){touches, begin};
}

// ---- the changes of the histories ----

// Collects changes from three sources. Links show changes of the code. Change points of
// absolute times count only if nothing was compared by pairs. The controls' common mode shows
// changes of a device; the series themselves do not show these, because the common mode was
// subtracted from them.

struct finding {
    const struct history_set *set;
    struct found_changes found;
    size_t room;
    struct arena *arena;
};

static void add_change(struct finding *f, const struct event_change *change,
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

// ---- links and change points ----

// Makes a change of one code of series `i`, whatever showed it.
static struct event_change change_of(const struct finding *f, size_t i,
                                     const struct linked_change *c)
{
    const char *uuid = f->set->series[i].series->device_uuid;
    return (struct event_change){.series = i,
                                 .device = device_of(f->set, uuid),
                                 .size = c->size,
                                 .back = c->back,
                                 .levelled = isfinite(c->left),
                                 .left = c->left,
                                 .was = c->was,
                                 .aside = c->aside,
                                 .cause = ATTRIBUTION_KERNEL};
}

// The 99.99 % interval of a sure change, which allows for what pairs cannot see, does not contain
// 0. That is rarer by chance than any alarm of a gate, however many links there are.
static void add_linked(struct finding *f, size_t i)
{
    const struct series_history *s = &f->set->series[i];
    for (size_t k = 0; k < s->linked.change_count; k++) {
        const struct linked_change *c = &s->linked.changes[k];
        struct event_change change = change_of(f, i, c);
        change.log_evidence = c->evidence;
        change.paired = true;
        change.confirmed = c->sure && !c->misfit;
        add_change(f, &change, &(struct timeline_stretch){c->base.id, "", c->at.id}, c->at.id);
        f->found.items[f->found.count - 1].link = c->link;
    }
}

// Whether a change point counts. If the codes were compared by pairs, absolute times do not count
// for them. If the code is the same, a single series that moved is due to where its process's data
// lay.
static bool counts(const struct series_history *s, const struct history_change *c)
{
    return c->shared || (!s->linked.neighbours && !history_is_linked(&s->linked, c) &&
                         c->attribution != ATTRIBUTION_ENVIRONMENT);
}

// Whether a change that a plain run reported is also found from more than one time, and is reported
// there.
static bool is_told_by_points(const struct series_history *s, const struct linked_change *c)
{
    bool told = false;
    for (size_t k = 0; k < s->change_count; k++) {
        const struct history_change *p = &s->changes[k];
        told |= counts(s, p) && (p->change.size.value > 0) == (c->size.value > 0) &&
                (strcmp(p->at.id, c->at.id) == 0 || strstr(p->held, c->at.id) ||
                 (c->base.id[0] && strstr(p->held, c->base.id)));
    }
    return told;
}

// Adds what plain runs reported from times alone, as long as nothing else is known about it.
static void add_alone(struct finding *f, size_t i)
{
    const struct series_history *s = &f->set->series[i];
    for (size_t k = 0; k < s->alone_count; k++) {
        const struct linked_change *c = &s->alone[k];
        if (is_told_by_points(s, c))
            continue;
        struct event_change change = change_of(f, i, c);
        change.told = true;
        const char *first = c->base.id[0] ? "" : c->at.id;
        add_change(f, &change, &(struct timeline_stretch){c->base.id, first, c->at.id}, c->at.id);
    }
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
                                            .confirmed = true,
                                            .cause = c->attribution,
                                            .what = c->what};
        add_change(f, &change, &(struct timeline_stretch){"", c->earliest.id, c->latest.id},
                   c->at.id);
    }
}

// ---- the controls ----

// Finds the driver or runtime that changed where the controls moved, which is the reason.
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

// The size of a driver's change with an interval. Runs under one driver differ, too, and by more
// than the points suggest if many of these come from few runs.
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

// Adds a shift of the controls, which moves every series of the device.
static void add_shift(struct finding *f, const struct control_shifts *mode, const struct change *c,
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
            add_change(f, &change, &stretch, mode->commits[c->index].id);
    }
}

static int add_device(struct finding *f, struct store *store, const char *uuid, struct error *err)
{
    struct control_shifts mode;
    struct changepoints moved;
    struct series_entry *entries;
    struct driver_steps drivers = {0};
    const struct history_wanted wanted = {.device = uuid};
    const struct history_query all = {.places = &f->set->points};
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

// ---- all sources ----

static int find_all(struct finding *f, struct store *store, struct error *err)
{
    for (size_t i = 0; i < f->set->count; i++) {
        const char *uuid = f->set->series[i].series->device_uuid;
        add_linked(f, i);
        add_points(f, i);
        add_alone(f, i);
        if (device_of(f->set, uuid) == i && add_device(f, store, uuid, err))
            return -1;
    }
    return 0;
}

// Finds the changes of all series. The list is in the arena; its texts belong to the set.
static int events_find(struct found_changes *out, const struct history_set *set,
                       struct store *store, struct arena *arena, struct error *err)
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

// ---- the decisions of people ----

// Combines an event's entries from the store and from the epochs file.

// ---- accepted baselines ----

// Whether the level that was accepted includes the event's change. If a repository knows both
// commits, ancestry decides, and dates do not.
static bool is_behind(const struct epoch *epoch, const struct event *e, const struct timeline *t,
                      const struct repository *repository, struct arena *arena)
{
    const size_t at = timeline_find(t, epoch->commit);
    const char *last = t->commits[e->last].id;
    struct commit named, found;
    struct error gone;
    if (repository && repository_commit(&found, repository, last, arena, &gone) == 0)
        return repository_commit(&named, repository, epoch->commit, arena, &gone) == 0 &&
               (strcmp(named.id, last) == 0 || repository_descends(repository, named.id, last));
    return at != SIZE_MAX ? at >= e->last : t->commits[e->last].time_s < epoch->when_s;
}

// Finds the epoch that accepts a change. The file grows at its end, so the first one that includes
// the change was made for it.
static const struct epoch *accepting(const struct event *e, const struct event_change *c,
                                     const struct history_set *set, const struct timeline *t,
                                     const struct repository *repository, struct arena *arena)
{
    const struct series_entry *s = set->series[c->series].series;
    for (size_t i = 0; i < set->epochs.count; i++) {
        const struct epoch *epoch = &set->epochs.epochs[i];
        if (!epoch->removed && epoch_matches(epoch, s->kernel, &s->problem, s->device_uuid) &&
            is_behind(epoch, e, t, repository, arena))
            return epoch;
    }
    return NULL;
}

// The epoch of the largest change that needs one; NULL: some change that needs one has none.
static const struct epoch *accepted_with(const struct event *e, const struct history_set *set,
                                         const struct timeline *t,
                                         const struct repository *repository, struct arena *arena)
{
    const struct epoch *largest = NULL;
    bool slower = false;
    for (size_t i = 0; i < e->count; i++)
        slower |= e->changes[i].size.value > 0;
    for (size_t i = 0; i < e->count; i++) {
        if (slower && !(e->changes[i].size.value > 0))
            continue;
        const struct epoch *epoch = accepting(e, &e->changes[i], set, t, repository, arena);
        if (!epoch)
            return NULL;
        largest = largest ? largest : epoch;
    }
    return largest;
}

// ---- entries ----

// Adds a person's entry. It has a day and no time, so it is put after the tool's entries of that
// day.
static void add_word(struct event *e, struct event_entry *entries, const struct event_entry *word)
{
    size_t at = e->entry_count++;
    for (; at > 0 && entries[at - 1].when_s > word->when_s + 86399; at--)
        entries[at] = entries[at - 1];
    entries[at] = *word;
    e->state = word->state;
}

// Sets the entries and the state of an event. The entries are the stored ones (`stored` may be
// NULL), `now` if it adds something, and those of people, in the order of time. People's entries
// decide the state, and a decision takes precedence over an accepted baseline. All in the arena.
static void events_decide(struct event *event, const struct stored_event *stored,
                          const struct event_entry *now, const struct history_set *set,
                          const struct timeline *timeline, const struct repository *repository,
                          struct arena *arena)
{
    const struct epoch_list *epochs = &set->epochs;
    const size_t known = stored ? stored->entry_count : 0;
    struct event_entry *entries =
        arena_alloc(arena, (known + epochs->decision_count + 2) * sizeof(*entries));
    bool decided = false;
    event->state = now->state;
    event->entries = entries;
    event->entry_count = 0;
    for (size_t i = 0; i < known; i++)
        entries[event->entry_count++] = stored->entries[i];
    if (known == 0 || stored->entries[known - 1].state != now->state)
        entries[event->entry_count++] = *now;
    for (size_t i = 0; i < epochs->decision_count; i++) {
        const struct epoch_decision *d = &epochs->decisions[i];
        if (d->taken || strcmp(d->event, event->name) != 0)
            continue;
        add_word(event, entries, &(struct event_entry){d->state, d->when_s, d->who, d->reason});
        decided = true;
    }
    const struct epoch *epoch = decided || !event_is_open(event->state)
                                    ? NULL
                                    : accepted_with(event, set, timeline, repository, arena);
    if (epoch)
        add_word(event, entries,
                 &(struct event_entry){EVENT_ACCEPTED, epoch->when_s, epoch->who, epoch->reason});
    event->taken =
        event_is_open(event->state) ? epoch_taken(epochs, event->name) : (struct event_taken){0};
}

// ---- events that were reported before ----

// Matches the present events with those that were reported before. Two are the same event if they
// have a series in common and the ranges of their commits meet; the event then keeps its name. The
// tool's entries are kept in the store. People's entries are in the epochs file (events_decide()),
// and they decide.

struct remembering {
    struct events *events;
    const struct history_set *set;
    struct store *store;
    const struct events_asked *asked;
    struct stored_event *stored;
    size_t stored_count;
    bool *found;                 // by stored event: it was found again
    struct series_place *places; // of the set's series, by their keys
    struct event_index index;    // of all events, including withdrawn ones
    struct arena *arena;
};

// ---- matching ----

struct series_place {
    int64_t key;
    size_t at;
};

static int by_series(const void *left, const void *right)
{
    const struct series_place *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static void find_series(struct remembering *r)
{
    const struct history_set *set = r->set;
    r->places = arena_alloc(r->arena, (set->count + 1) * sizeof(*r->places));
    for (size_t i = 0; i < set->count; i++)
        r->places[i] = (struct series_place){set->series[i].series->key, i};
    qsort(r->places, set->count, sizeof(*r->places), by_series);
}

// The place of a series in the set; the set's count: it is not there.
static size_t index_of(const struct remembering *r, int64_t series)
{
    const struct series_place key = {series, 0};
    const struct series_place *found =
        bsearch(&key, r->places, r->set->count, sizeof(key), by_series);
    return found ? found->at : r->set->count;
}

static const double same_size = 0.1; // levels move a little as links come

// Whether two changes of one series meet; the stored one's commits have these positions.
static bool meets(const struct stored_event_change *s, size_t first, size_t last,
                  const struct event_change *c)
{
    // The same links, reported at another commit since. Evidence alone is not enough, because many
    // changes have the same: measuring ends when a gate is certain.
    if (c->was && (strcmp(c->was, s->last) == 0 ||
                   (c->log_evidence == s->log_evidence &&
                    fabs(c->size.value - s->log_ratio) <= same_size * fabs(s->log_ratio))))
        return true;
    return last != SIZE_MAX && (first == SIZE_MAX ? last : first) <= c->last && last >= c->first;
}

// The events that a reported one shares changes with.
struct sharing_events {
    size_t *changes; // by event, how many are shared
    size_t *list, count;
};

static void share(struct sharing_events *with, size_t event)
{
    if (with->changes[event]++ == 0)
        with->list[with->count++] = event;
}

// Takes the event with most of the changes, the first of several, and forgets all.
static size_t take_best(struct sharing_events *with, const struct events *events,
                        enum attribution cause)
{
    size_t best = SIZE_MAX, most = 0;
    for (size_t i = 0; i < with->count; i++) {
        const size_t k = with->list[i], shared = with->changes[k];
        with->changes[k] = 0;
        if (events->stored[k] || events->list.events[k].cause != cause)
            continue;
        if (shared > most || (shared == most && k < best))
            best = k, most = shared;
    }
    with->count = 0;
    return best;
}

// Matches each reported event with the event that has most of its changes.
static void recognise(struct remembering *r)
{
    struct events *events = r->events;
    struct sharing_events with = {
        arena_alloc(r->arena, (events->list.count + 1) * sizeof(*with.changes)),
        arena_alloc(r->arena, (events->list.count + 1) * sizeof(*with.list)), 0};
    struct event_index index;
    event_index_make(&index, &events->list, r->set->count, r->arena);
    for (size_t i = 0; i < r->stored_count; i++) {
        const struct stored_event *s = &r->stored[i];
        for (size_t k = 0; k < s->change_count; k++) {
            const struct stored_event_change *c = &s->changes[k];
            const size_t series = index_of(r, c->series);
            const size_t first = timeline_find(&events->timeline, c->first);
            const size_t last = timeline_find(&events->timeline, c->last);
            for (size_t t = series < r->set->count ? index.begin[series] : 0;
                 series < r->set->count && t < index.begin[series + 1]; t++) {
                if (meets(c, first, last, index.touches[t].change))
                    share(&with, index.touches[t].event);
            }
        }
        const size_t best = take_best(&with, events, s->cause);
        r->found[i] = best != SIZE_MAX;
        if (best != SIZE_MAX)
            events->stored[best] = &r->stored[i];
    }
}

// ---- names ----

// The names that events have, each at its hash or behind it; at least half of the places are free.
struct event_names {
    const char **at;
    size_t room;
};

static struct event_names names_for(size_t count, struct arena *arena)
{
    struct event_names names = {NULL, 2 * count + 1};
    names.at = arena_alloc(arena, names.room * sizeof(*names.at)); // all free
    return names;
}

// False: it is taken. The name is borrowed.
static bool take_name(struct event_names *names, const char *name)
{
    size_t i = (size_t)(hash_text(HASH_START, name) % names->room);
    for (; names->at[i]; i = (i + 1) % names->room) {
        if (strcmp(names->at[i], name) == 0)
            return false;
    }
    names->at[i] = name;
    return true;
}

// Names an event after the commit that most likely began it; an event that no commit caused gets
// another name.
static void name_event(struct event_names *names, struct event *e)
{
    const char *cause = e->cause == ATTRIBUTION_KERNEL ? "" : attribution_name(e->cause);
    bool named = false;
    for (int n = 1; !named; n++) {
        char number[16] = "";
        if (n > 1)
            snprintf(number, sizeof(number), "-%d", n);
        snprintf(e->name, sizeof(e->name), "%.10s%s%.12s%s", e->commits[0].id, *cause ? "-" : "",
                 cause, number);
        named = take_name(names, e->name);
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
        const size_t series = index_of(r, c->series), last = timeline_find(t, c->last);
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

// ---- the present state ----

// Whether `other` comes after a change. On the line this holds for all changes of the line; on a
// branch that the line does not have, only for the branch's own later commits.
static bool follows(const struct remembering *r, const struct event_change *other,
                    const struct event_change *c)
{
    const struct commit *commits = r->events->timeline.commits;
    if (other->first <= c->last || other->aside != c->aside)
        return false;
    const struct repository *repository = r->asked->sources.repository;
    return !c->aside || (repository && repository_descends(repository, commits[other->last].id,
                                                           commits[c->last].id));
}

// Whether a series is back: less than a quarter of the change is left, in the newest code if links
// lead there, or after any later change. If it gets slower again, that is another event.
static bool is_undone(const struct remembering *r, const struct event *e,
                      const struct event_change *c)
{
    const struct event_touch *touches = r->index.touches;
    const size_t end = r->index.begin[c->series + 1];
    bool back = !c->aside && c->levelled && c->left <= c->size.value / 4;
    double left = c->size.value;
    for (size_t t = r->index.begin[c->series]; !back && t < end; t++) {
        const struct event *other = &r->events->list.events[touches[t].event];
        const struct event_change *o = touches[t].change;
        if (other != e && other->state != EVENT_WITHDRAWN && follows(r, o, c))
            left += o->size.value;
        const bool whole = t + 1 == end || touches[t + 1].change->first > o->first;
        back = whole && o->first > c->last && left <= c->size.value / 4;
    }
    return back;
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

// Whether the event only took slowdowns back, to exactly the code before them, so that there is
// nothing to decide. An event that takes a gain back, on purpose or by a failed merge, is for a
// person to decide.
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

// Whether HEAD does not come after the event: its branch is gone, because changes of existing
// branches are found.
static bool is_abandoned(const struct remembering *r, const struct event *e)
{
    const struct repository *repository = r->asked->sources.repository;
    struct commit head, gone;
    struct error none;
    if (!repository || repository_commit(&head, repository, "HEAD", r->arena, &none))
        return false;
    return repository_commit(&gone, repository, e->commits[0].id, r->arena, &none) ||
           (strcmp(head.id, gone.id) != 0 && !repository_descends(repository, head.id, gone.id));
}

// The tool's present state of the event, and why. A confirmed event stays confirmed.
static struct event_entry opinion(const struct remembering *r, const struct event *e,
                                  const struct stored_event *s)
{
    struct event_entry entry = {EVENT_NEW, r->asked->now_s, "plumb " PLUMB_VERSION,
                                "found; the evidence over the whole history does not suffice yet"};
    if (e->state == EVENT_WITHDRAWN) {
        entry.state = EVENT_WITHDRAWN;
        entry.why = is_abandoned(r, e) ? "no branch has its commit any more"
                                       : "what was measured since, or pruned, does not bear it out";
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

static int by_key(const void *left, const void *right)
{
    const struct stored_event_change *a = left, *b = right;
    return (a->series > b->series) - (a->series < b->series);
}

// The changes of an event as the store keeps them, in the order of their series.
static struct stored_event_change *changes_to_keep(const struct remembering *r,
                                                   const struct event *e)
{
    const struct commit *commits = r->events->timeline.commits;
    struct stored_event_change *changes = arena_alloc(r->arena, e->count * sizeof(*changes));
    for (size_t i = 0; i < e->count; i++) {
        const struct event_change *c = &e->changes[i];
        changes[i] = (struct stored_event_change){r->set->series[c->series].series->key, "", "",
                                                  c->size.value, c->log_evidence};
        text_copy(changes[i].first, OBJECT_ID_TEXT, commits[c->first].id);
        text_copy(changes[i].last, OBJECT_ID_TEXT, commits[c->last].id);
    }
    qsort(changes, e->count, sizeof(*changes), by_key);
    return changes;
}

static bool same_changes(const struct stored_event *s, const struct stored_event_change *changes,
                         size_t count)
{
    bool same = s->change_count == count;
    for (size_t i = 0; same && i < count; i++) {
        const struct stored_event_change *a = &s->changes[i], *b = &changes[i];
        same = a->series == b->series && strcmp(a->first, b->first) == 0 &&
               strcmp(a->last, b->last) == 0 && !(a->log_ratio < b->log_ratio) &&
               !(a->log_ratio > b->log_ratio) && !(a->log_evidence < b->log_evidence) &&
               !(a->log_evidence > b->log_evidence);
    }
    return same;
}

// Writes what the store does not have yet of an event, so that a look without news writes nothing.
static int keep(struct remembering *r, const struct event *e, struct stored_event **stored,
                const struct event_entry *now, struct error *err)
{
    struct stored_event *s = *stored;
    const bool told = s && s->entry_count && s->entries[s->entry_count - 1].state == now->state;
    const bool withdrawn = e->state == EVENT_WITHDRAWN;
    struct stored_event_change *changes = withdrawn ? NULL : changes_to_keep(r, e);
    struct stored_event fresh = {.cause = e->cause, .what = e->what ? e->what : ""};
    if (told && (withdrawn || same_changes(s, changes, e->count)))
        return 0;
    if (!s) {
        s = arena_copy(r->arena, &fresh, sizeof(fresh));
        memcpy(s->name, e->name, sizeof(s->name));
    }
    if (!withdrawn) {
        s->changes = changes;
        s->change_count = e->count;
    }
    if (store_save_event(r->store, s, err) ||
        (!told && store_add_event_entry(r->store, s->key, now, err)))
        return -1;
    *stored = s;
    return 0;
}

// Narrows an event to the culprit that a search found.
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
    struct event_names names = names_for(events->list.count + r->stored_count, r->arena);
    for (size_t i = 0; i < r->stored_count; i++)
        take_name(&names, r->stored[i].name);
    for (size_t i = 0; i < events->list.count; i++) {
        struct event *e = &events->list.events[i];
        if (events->stored[i])
            memcpy(e->name, events->stored[i]->name, sizeof(e->name));
    }
    for (size_t i = 0; i < events->list.count; i++) {
        struct event *e = &events->list.events[i];
        if (!e->name[0])
            name_event(&names, e);
        narrow(e, events->stored[i]);
        now[i] = opinion(r, e, events->stored[i]);
    }
    if (r->asked->now_s && keep_all(r, now, &refused))
        fprintf(stderr, "plumb: %s; events are not kept\n", refused.text);
    for (size_t i = 0; i < events->list.count; i++)
        events_decide(&events->list.events[i], events->stored[i], &now[i], r->set,
                      &events->timeline, r->asked->sources.repository, r->arena);
    free(now);
}

// Gives names, entries and states to the events found now, newest first. Adds those that were
// reported and are not found any more, as withdrawn. New entries are kept in the store if
// asked->now_s is not 0; if it cannot be written, a message goes to standard error.
static int events_remember(struct events *events, const struct history_set *set,
                           struct store *store, const struct events_asked *asked,
                           struct arena *arena, struct error *err)
{
    struct remembering r = {
        .events = events, .set = set, .store = store, .asked = asked, .arena = arena};
    if (store_load_events(&r.stored, &r.stored_count, store, arena, err))
        return -1;
    events->stored = arena_alloc(arena, (events->list.count + 1) * sizeof(*events->stored));
    r.found = arena_alloc(arena, (r.stored_count + 1) * sizeof(*r.found));
    find_series(&r);
    recognise(&r);
    add_withdrawn(&r);
    settle(&r);
    return 0;
}

// ---- positions ----

// The first commit after `base` on a line of first parents, for a stretch whose own line is not
// known that far back.
static size_t behind(const struct timeline *t, size_t base, size_t last)
{
    size_t first = base + 1;
    while (first < last && !t->line[first])
        first++;
    return first;
}

// A change between points may also have begun with an unmeasured commit before the first of them.
static size_t unmeasured(const struct timeline *t, size_t first)
{
    while (first > 0 && t->between[first - 1])
        first--;
    return first;
}

// Gives a change its positions. `begin` is the first one of its own line, or SIZE_MAX. By date,
// commits of other branches may lie between.
static bool place(struct found_change *f, const struct timeline *t, size_t begin)
{
    struct event_change *c = &f->change;
    const size_t base = timeline_find(t, f->stretch.base);
    const size_t first = timeline_find(t, f->stretch.first);
    c->last = timeline_find(t, f->stretch.last);
    c->at = timeline_find(t, f->at);
    if (c->last == SIZE_MAX || c->at == SIZE_MAX)
        return false;
    if (f->stretch.base[0])
        c->first = begin <= c->last                      ? begin
                   : base == SIZE_MAX || base >= c->last ? c->last
                                                         : behind(t, base, c->last);
    else
        c->first = first == SIZE_MAX || first > c->last ? c->last : unmeasured(t, first);
    c->at = c->at < c->first || c->at > c->last ? c->last : c->at;
    return true;
}

// Narrows a link's range: a commit in it that was measured later, and still had the code of the
// link's base, did not begin the change.
static int narrow_link(struct found_change *f, const struct timeline *t, struct store *store,
                       struct error *err)
{
    struct event_change *c = &f->change;
    for (size_t p = c->last; f->link && p > c->first;) {
        bool had;
        if (t->between[--p] || !t->line[p])
            continue;
        if (store_had_base(&had, store, f->link, t->commits[p].id, err))
            return -1;
        if (had)
            c->first = behind(t, p, c->last);
    }
    return 0;
}

// ---- culprits ----

// Lists the possible culprits. Commits of branches that only lie between by their dates are left
// out.
static void name_culprits(struct event *e, const struct timeline *t, struct arena *arena)
{
    size_t *kept = arena_alloc(arena, (e->culprit_count + 1) * sizeof(*kept)), count = 0;
    for (size_t i = 0; i < e->culprit_count; i++) {
        if (t->line[e->culprits[i]])
            kept[count++] = e->culprits[i];
    }
    if (count) {
        e->culprits = kept;
        e->culprit_count = count;
    }
    struct event_commit *commits = arena_alloc(arena, e->culprit_count * sizeof(*commits));
    for (size_t i = 0; i < e->culprit_count; i++) {
        const struct commit *c = &t->commits[e->culprits[i]];
        commits[i] =
            (struct event_commit){.time_s = c->time_s, .summary = c->summary, .author = c->author};
        text_copy(commits[i].id, sizeof(commits[i].id), c->id);
    }
    e->commits = commits;
}

int events_sources(struct timeline_sources *out, struct store *store,
                   const struct repository *repository, struct arena *arena, struct error *err)
{
    struct run run = {0};
    struct policy policy = {0};
    struct error unreadable; // it has another version; then every commit counts
    int64_t id;
    *out = (struct timeline_sources){.repository = repository};
    if (store_last_run(&id, store, RUN_MEASURE, err) ||
        (id && store_load_run(&run, store, id, err)))
        return -1;
    if (id && policy_parse(&policy, run.policy, strlen(run.policy), "policy", &unreadable) == 0) {
        const struct recipe *recipe = &policy.recipe;
        const char **paths = arena_alloc(arena, (recipe->input_count + 1) * sizeof(*paths));
        for (size_t i = 0; i < recipe->input_count; i++)
            paths[i] = arena_strdup(arena, recipe->inputs[i]);
        out->paths = paths;
        out->path_count = recipe->input_count;
    }
    policy_free(&policy);
    run_free(&run);
    return 0;
}

int events_load(struct events *out, const struct history_set *set, struct store *store,
                const struct events_asked *asked, struct arena *arena, struct error *err)
{
    struct found_changes found;
    struct events events = {0};
    size_t count = 0;
    if (events_find(&found, set, store, arena, err))
        return -1;
    struct timeline_stretch *stretches = arena_alloc(arena, found.count * sizeof(*stretches));
    struct event_change *changes = arena_alloc(arena, found.count * sizeof(*changes));
    for (size_t i = 0; i < found.count; i++)
        stretches[i] = found.items[i].stretch;
    if (timeline_read(&events.timeline, store, &asked->sources, stretches, found.count, arena, err))
        return -1;
    for (size_t i = 0; i < found.count; i++) {
        struct found_change *f = &found.items[i];
        if (!place(f, &events.timeline, events.timeline.begins[i]))
            continue;
        if (narrow_link(f, &events.timeline, store, err))
            return -1;
        changes[count++] = f->change;
    }
    event_group(&events.list, changes, count, arena);
    for (size_t i = 0; i < events.list.count; i++)
        name_culprits(&events.list.events[i], &events.timeline, arena);
    if (events_remember(&events, set, store, asked, arena, err))
        return -1;
    *out = events;
    return 0;
}

// ---- for people ----

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool fits(const struct event *e, const char *name)
{
    bool found = begins(e->name, name);
    for (size_t i = 0; i < e->culprit_count; i++)
        found |= begins(e->commits[i].id, name);
    return found;
}

const struct event *events_named(const struct events *events, const char *name, struct error *err)
{
    const struct event *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < events->list.count; i++) {
        const struct event *e = &events->list.events[i];
        if (strcmp(e->name, name) == 0)
            return e;
        if (name[0] && fits(e, name)) {
            found = e;
            count++;
        }
    }
    if (count == 1)
        return found;
    if (count)
        error_set(err, "%.60s: %zu events begin so; `plumb events` lists them", name, count);
    else
        error_set(err, "%.60s: no such event; `plumb events` lists them", name);
    return NULL;
}

static const char *size_text(const struct event_change *c, struct arena *arena)
{
    return arena_printf(arena, "%+.2f %%", 100 * expm1(c->size.value));
}

const char *event_sentence(const struct event *e, const struct history_set *set,
                           struct arena *arena)
{
    char problem[PROBLEM_TEXT];
    const struct event_change *most = event_largest(e);
    const struct series_entry *s = set->series[most->series].series;
    problem_tell(problem, &s->problem);
    if (e->device != SIZE_MAX && e->what)
        return arena_printf(arena, "%s on %s, %zu series: %s", size_text(most, arena),
                            s->device_name, e->count, e->what);
    if (e->count == 1)
        return arena_printf(arena, "%s %s %s on %s", size_text(most, arena), s->kernel, problem,
                            s->device_name);
    return arena_printf(arena, "%s %s %s on %s and %zu more", size_text(most, arena), s->kernel,
                        problem, s->device_name, e->count - 1);
}
