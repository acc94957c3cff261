// SPDX-License-Identifier: Apache-2.0
//
// The store's commits come in the order of its histories. A stretch is walked back from its last
// commit; a commit on the way that the store does not know is put directly before its child.
#include "ci/history/timeline.h"

#include <stdlib.h>
#include <string.h>

enum { STRETCH_MOST = 1024 }; // commits that one is followed back

struct stop {
    struct commit commit;
    size_t anchor; // the store's commit that it is, or comes before
    size_t before; // by so many
    bool line;
};

struct walk {
    const struct timeline_sources *sources;
    struct stop *stops;
    size_t count, room;
    struct timeline_place *known; // the store's commits, which are the first stops
    size_t known_count;
    struct arena *arena;
};

static int compare_places(const void *left, const void *right)
{
    const struct timeline_place *a = left, *b = right;
    return strcmp(a->id, b->id);
}

static size_t find(const struct timeline_place *places, size_t count, const char *id)
{
    const struct timeline_place key = {.id = id};
    const struct timeline_place *found =
        count ? bsearch(&key, places, count, sizeof(key), compare_places) : NULL;
    return found ? found->at : SIZE_MAX;
}

static void add(struct walk *w, const struct commit *commit, size_t anchor, size_t before)
{
    w->stops = xgrow(w->stops, w->count, &w->room, sizeof(*w->stops));
    w->stops[w->count++] = (struct stop){*commit, anchor, before, false};
}

// A commit that is between: of an earlier stretch, or a new one.
static struct stop *between(struct walk *w, const struct commit *commit, size_t anchor,
                            size_t before)
{
    for (size_t i = w->known_count; i < w->count; i++) {
        if (strcmp(w->stops[i].commit.id, commit->id) == 0)
            return &w->stops[i];
    }
    add(w, commit, anchor, before);
    return &w->stops[w->count - 1];
}

// Was `id` the end of the stretch? Without a base that is what the store knows behind `first`.
static bool ends(const struct timeline_stretch *stretch, bool behind, bool known, const char *id)
{
    return stretch->base[0] ? strcmp(stretch->base, id) == 0 : behind && known;
}

// Something that a build reads differs from its first parent; what cannot be asked counts.
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

// Returns the oldest commit of its line, or NULL: it was not followed as far as its base.
static const char *follow(struct walk *w, const struct timeline_stretch *stretch)
{
    size_t at = find(w->known, w->known_count, stretch->last), anchor = at, before = 0;
    const char *oldest = stretch->last;
    if (at == SIZE_MAX)
        return NULL;
    struct commit commit = w->stops[at].commit;
    w->stops[at].line = true;
    bool behind = strcmp(commit.id, stretch->first) == 0;
    for (size_t n = 0; n < STRETCH_MOST && commit.parent[0]; n++) {
        struct error edge;
        const size_t next = find(w->known, w->known_count, commit.parent);
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

static struct timeline_place *place_all(const struct commit *commits, size_t count,
                                        struct arena *arena)
{
    struct timeline_place *places = arena_alloc(arena, (count + 1) * sizeof(*places));
    for (size_t i = 0; i < count; i++)
        places[i] = (struct timeline_place){commits[i].id, i};
    if (count)
        qsort(places, count, sizeof(*places), compare_places);
    return places;
}

int timeline_read(struct timeline *out, struct store *store, const struct timeline_sources *sources,
                  const struct timeline_stretch *stretches, size_t count, struct arena *arena,
                  struct error *err)
{
    struct walk w = {.sources = sources, .arena = arena};
    struct commit *known;
    if (store_commits(&known, &w.known_count, store, arena, err))
        return -1;
    w.known = place_all(known, w.known_count, arena);
    for (size_t i = 0; i < w.known_count; i++)
        add(&w, &known[i], i, 0);
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
    out->places = place_all(out->commits, out->count, arena);
    for (size_t i = 0; i < count; i++)
        out->begins[i] = oldest[i] ? timeline_find(out, oldest[i]) : SIZE_MAX;
    return 0;
}

size_t timeline_find(const struct timeline *timeline, const char *id)
{
    return find(timeline->places, timeline->count, id);
}
