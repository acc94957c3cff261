// SPDX-License-Identifier: Apache-2.0
//
// What links say as bytes, and back.
#include "ci/history/links_pack.h"

#include <string.h>

// ---- packing ----

static void put_commit(struct buffer *out, const struct history_commit *commit)
{
    put_text(out, commit->id);
    put(out, (uint64_t)commit->time_s);
}

static void put_interval(struct buffer *out, const struct interval *interval)
{
    put_real(out, interval->value);
    put_real(out, interval->low);
    put_real(out, interval->high);
}

void put_change(struct buffer *out, const struct linked_change *c)
{
    put_commit(out, &c->at);
    put_commit(out, &c->base);
    put_interval(out, &c->size);
    put_real(out, c->evidence);
    put(out, (uint64_t)c->link);
    put(out, c->misfit);
    put(out, c->sure);
    put(out, c->back);
    put_real(out, c->left);
}

void put_misfit(struct buffer *out, const struct linked_misfit *m)
{
    put_commit(out, &m->at);
    put_commit(out, &m->base);
    put(out, m->back);
}

void linked_pack(struct buffer *out, const struct linked_history *l)
{
    put(out, l->change_count);
    put(out, l->misfit_count);
    put(out, l->level_count);
    put(out, l->step_count);
    put(out, l->newest);
    put(out, l->links);
    put(out, l->loops);
    put(out, (uint64_t)l->newest_link);
    put(out, l->neighbours);
    put(out, l->trouble != NULL);
    put_text(out, l->trouble ? l->trouble : "");
    put_real(out, l->misclosure);
    put_interval(out, &l->now);
    put_commit(out, &l->since);
    put_interval(out, &l->accepted);
    put(out, l->moved);
    for (size_t i = 0; i < l->change_count; i++)
        put_change(out, &l->changes[i]);
    for (size_t i = 0; i < l->misfit_count; i++)
        put_misfit(out, &l->misfits[i]);
}

void linked_part_pack(struct buffer *out, const struct linked_part *part)
{
    put(out, part->level_count);
    put(out, part->step_count);
    for (size_t i = 0; i < part->level_count; i++) {
        const struct linked_level *l = &part->levels[i];
        put(out, part->numbers[i]);
        put(out, (uint64_t)l->at->key);
        put_interval(out, &l->level);
        put(out, l->mark);
        put(out, l->tried);
    }
    for (size_t i = 0; i < part->step_count; i++) {
        put(out, (uint64_t)part->steps[i].at->key);
        put(out, part->steps[i].level);
    }
}

// ---- unpacking ----

static struct history_commit get_commit(struct reader *r)
{
    struct history_commit commit = {0};
    const size_t length = get_count(r);
    r->bad |= length >= sizeof(commit.id);
    if (r->bad)
        return commit;
    memcpy(commit.id, r->at, length);
    r->at += length;
    commit.time_s = (int64_t)get(r);
    return commit;
}

static struct interval get_interval(struct reader *r)
{
    const double value = get_real(r), low = get_real(r);
    return (struct interval){value, low, get_real(r)};
}

struct linked_change get_change(struct reader *r)
{
    struct linked_change c = {.at = get_commit(r)};
    c.base = get_commit(r);
    c.size = get_interval(r);
    c.evidence = get_real(r);
    c.link = (int64_t)get(r);
    c.misfit = get(r) != 0;
    c.sure = get(r) != 0;
    c.back = get(r) != 0;
    c.left = get_real(r);
    return c;
}

struct linked_misfit get_misfit(struct reader *r)
{
    struct linked_misfit m = {.at = get_commit(r)};
    m.base = get_commit(r);
    m.back = (uint32_t)get_index(r, UINT32_MAX);
    return m;
}

static void get_changes(struct reader *r, struct linked_history *l)
{
    l->changes = arena_alloc(r->arena, (l->change_count + 1) * sizeof(*l->changes));
    for (size_t i = 0; i < l->change_count && !r->bad; i++)
        l->changes[i] = get_change(r);
    l->misfits = arena_alloc(r->arena, (l->misfit_count + 1) * sizeof(*l->misfits));
    for (size_t i = 0; i < l->misfit_count && !r->bad; i++)
        l->misfits[i] = get_misfit(r);
}

int linked_unpack(struct linked_history *out, const void *bytes, size_t size, struct arena *arena)
{
    struct reader r = {bytes, (const unsigned char *)bytes + size, arena, false};
    struct linked_history l = {.change_count = get_count(&r)};
    l.misfit_count = get_count(&r);
    l.level_count = (size_t)get(&r);
    l.step_count = (size_t)get(&r);
    l.newest = get_index(&r, l.level_count ? l.level_count : 1);
    l.links = (size_t)get(&r);
    l.loops = (size_t)get(&r);
    l.newest_link = (int64_t)get(&r);
    l.neighbours = (size_t)get(&r);
    const bool trouble = get(&r) != 0;
    const char *why = get_text(&r);
    l.trouble = trouble ? why : NULL;
    l.misclosure = get_real(&r);
    l.now = get_interval(&r);
    l.since = get_commit(&r);
    l.accepted = get_interval(&r);
    l.moved = get(&r) != 0;
    get_changes(&r, &l);
    if (r.bad || r.at != r.end)
        return -1;
    *out = l;
    return 0;
}

static const struct commit_place *get_place(struct reader *r, const struct commit_places *places)
{
    const struct commit_place *place = commit_place_find(places, (int64_t)get(r));
    r->bad |= place == NULL;
    return place;
}

int linked_part_unpack(struct linked_part *out, const void *bytes, size_t size,
                       const struct commit_places *places, struct arena *arena)
{
    struct reader r = {bytes, (const unsigned char *)bytes + size, arena, false};
    struct linked_part p = {.level_count = get_count(&r)};
    p.step_count = get_count(&r);
    p.numbers = arena_alloc(arena, (p.level_count + 1) * sizeof(*p.numbers));
    p.levels = arena_alloc(arena, (p.level_count + 1) * sizeof(*p.levels));
    for (size_t i = 0; i < p.level_count && !r.bad; i++) {
        p.numbers[i] = (size_t)get(&r);
        p.levels[i].at = get_place(&r, places);
        p.levels[i].level = get_interval(&r);
        p.levels[i].mark = (size_t)get(&r);
        p.levels[i].tried = get(&r) != 0;
    }
    p.steps = arena_alloc(arena, (p.step_count + 1) * sizeof(*p.steps));
    for (size_t i = 0; i < p.step_count && !r.bad; i++) {
        p.steps[i].at = get_place(&r, places);
        p.steps[i].level = (size_t)get(&r);
    }
    if (r.bad || r.at != r.end)
        return -1;
    *out = p;
    return 0;
}
