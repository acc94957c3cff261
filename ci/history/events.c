// SPDX-License-Identifier: Apache-2.0
//
// From what histories found to events: commits get positions, changes are grouped, culprits are
// named.
#include "baselines/link.h"
#include "ci/history/events_changes.h"
#include "ci/history/events_kept.h"
#include "ci/settings/policy.h"

#include <math.h>
#include <string.h>

// ---- positions ----

// The first commit on a line of first parents behind `base`, where its own is not known that far.
static size_t behind(const struct timeline *t, size_t base, size_t last)
{
    size_t first = base + 1;
    while (first < last && !t->line[first])
        first++;
    return first;
}

// A change between points may also have begun with a commit before the first that nobody measured.
static size_t unmeasured(const struct timeline *t, size_t first)
{
    while (first > 0 && t->between[first - 1])
        first--;
    return first;
}

// `begin`: of its own line, or SIZE_MAX. Commits of another branch may lie between by their dates.
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

// A commit between that was measured later, and still had the code of the link's base, did nothing.
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

// Commits of branches that lie between by their dates are none.
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
    struct error unreadable; // another version's: then every commit counts
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
    problem_format(problem, &s->problem);
    if (e->device != SIZE_MAX && e->what)
        return arena_printf(arena, "%s on %s, %zu series: %s", size_text(most, arena),
                            s->device_name, e->count, e->what);
    if (e->count == 1)
        return arena_printf(arena, "%s %s %s on %s", size_text(most, arena), s->kernel, problem,
                            s->device_name);
    return arena_printf(arena, "%s %s %s on %s and %zu more", size_text(most, arena), s->kernel,
                        problem, s->device_name, e->count - 1);
}
