// SPDX-License-Identifier: Apache-2.0
//
// What links say as bytes, and back.
#include "ci/history/links_pack.h"

#include "ci/history/history_links.h"
#include "model/buffer.h"

#include <math.h>
#include <string.h>

// ---- figures as bytes and back ----

void put(struct buffer *out, uint64_t value)
{
    char bytes[10];
    size_t count = 0;
    for (; value >= 128; value >>= 7)
        bytes[count++] = (char)(value % 128 + 128);
    bytes[count++] = (char)value;
    buffer_add(out, bytes, count);
}

static void put_real(struct buffer *out, double value)
{
    uint64_t bits;
    char bytes[8];
    memcpy(&bits, &value, sizeof(bits));
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(bits >> (8 * i) & 255);
    buffer_add(out, bytes, sizeof(bytes));
}

static void put_text(struct buffer *out, const char *text)
{
    put(out, strlen(text));
    buffer_add(out, text, strlen(text));
}

uint64_t get(struct reader *r)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end)
            break;
        const unsigned char byte = *r->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    r->bad = true;
    return 0;
}

// A number of things of which each takes a byte at least.
static size_t get_count(struct reader *r)
{
    const uint64_t count = get(r);
    r->bad |= count > (uint64_t)(r->end - r->at);
    return r->bad ? 0 : (size_t)count;
}

// Below `count`.
static size_t get_index(struct reader *r, size_t count)
{
    const uint64_t index = get(r);
    r->bad |= index >= count;
    return r->bad ? 0 : (size_t)index;
}

static double get_real(struct reader *r)
{
    uint64_t bits = 0;
    double value;
    if (r->end - r->at < 8) {
        r->bad = true;
        return 0;
    }
    for (int i = 0; i < 8; i++)
        bits |= (uint64_t)*r->at++ << (8 * i);
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static const char *get_text(struct reader *r)
{
    const size_t length = get_count(r);
    const char *text = arena_strndup(r->arena, (const char *)r->at, length);
    r->at += length;
    r->bad |= strlen(text) != length;
    return text;
}

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

static void put_change(struct buffer *out, const struct linked_change *c)
{
    put_commit(out, &c->at);
    put_commit(out, &c->base);
    put_interval(out, &c->size);
    put_real(out, c->evidence);
    put(out, (uint64_t)c->link);
    put(out, c->misfit);
    put(out, c->sure);
    put(out, c->back);
    put(out, c->filled);
    put_real(out, c->left);
}

static void put_misfit(struct buffer *out, const struct linked_misfit *m)
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

static struct linked_change get_change(struct reader *r)
{
    struct linked_change c = {.at = get_commit(r)};
    c.base = get_commit(r);
    c.size = get_interval(r);
    c.evidence = get_real(r);
    c.link = (int64_t)get(r);
    c.misfit = get(r) != 0;
    c.sure = get(r) != 0;
    c.back = get(r) != 0;
    c.filled = get(r) != 0;
    c.left = get_real(r);
    return c;
}

static struct linked_misfit get_misfit(struct reader *r)
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

// ---- what is settled of a series' links ----

// What is settled of a series' links as bytes, and back. Whoever goes on from it relies on its
// numbers, so what does not fit together is refused too.

enum { SUMS = sizeof(((struct settled_sums *)0)->told) / sizeof(double) };

// ---- packing ----

static void put_levels(struct buffer *out, const struct levels_settled *l)
{
    const struct settled_sums *s = &l->sums;
    const double reals[] = {l->misclosure, l->unlike, s->square, s->loops,
                            s->pairs,      s->any,    s->change, s->redundancy};
    double told[SUMS];
    put(out, l->gone);
    put(out, l->links);
    put(out, s->count);
    for (size_t i = 0; i < ARRAY_COUNT(reals); i++)
        put_real(out, reals[i]);
    memcpy(told, s->told, sizeof(told));
    for (size_t i = 0; i < SUMS; i++)
        put_real(out, told[i]);
    for (size_t i = 0; i < l->codes; i++) {
        put(out, l->mark[i]);
        put_real(out, l->right[i]);
        for (size_t k = 0; k <= i; k++)
            put_real(out, l->information[i * l->codes + k]);
    }
}

static void put_kept(struct buffer *out, const struct settled_links *s)
{
    for (size_t i = 0; i < s->levels.codes; i++) {
        const struct settled_code *c = &s->kept[i];
        put(out, (uint64_t)c->code);
        put(out, (uint64_t)c->at);
        put(out, c->number);
        put(out, c->line);
        put(out, c->left);
        put(out, c->late);
    }
    for (size_t i = 0; i < s->levels.gone; i++)
        put(out, (uint64_t)(s->gone[i] - (i ? s->gone[i - 1] : 0)));
}

static void put_judged(struct buffer *out, const struct settled_links *s)
{
    for (size_t i = 0; i < s->change_count; i++) {
        const struct settled_change *c = &s->changes[i];
        put_change(out, &c->change);
        put(out, c->place);
        put(out, c->slower);
        put(out, c->from);
        put(out, c->mark);
        put_real(out, c->level);
    }
    for (size_t i = 0; i < s->misfit_count; i++) {
        put_misfit(out, &s->misfits[i].misfit);
        put(out, (uint64_t)s->misfits[i].from);
        put(out, (uint64_t)s->misfits[i].to);
    }
}

void settled_pack(struct buffer *out, const struct settled_links *s)
{
    const uint64_t figures[] = {s->stretches,
                                s->links,
                                s->neighbours,
                                s->codes,
                                (uint64_t)s->newest_link,
                                (uint64_t)s->read_from,
                                (uint64_t)s->context_s,
                                (uint64_t)s->end_s,
                                (uint64_t)s->end_commit,
                                (uint64_t)s->seen_s,
                                (uint64_t)s->seen_commit,
                                s->newest,
                                (uint64_t)s->newest_s,
                                s->has_line,
                                s->step_count,
                                s->step,
                                s->accepted_found,
                                s->accepted_head,
                                s->accepted_code,
                                s->accepted_place,
                                s->chain};
    for (size_t i = 0; i < ARRAY_COUNT(figures); i++)
        put(out, figures[i]);
    put_text(out, s->accepted);
    put(out, s->levels.codes);
    put(out, s->change_count);
    put(out, s->misfit_count);
    put_levels(out, &s->levels);
    put_kept(out, s);
    put_judged(out, s);
}

// ---- unpacking ----

static double get_finite(struct reader *r)
{
    const double value = get_real(r);
    r->bad |= !isfinite(value);
    return value;
}

static void get_levels(struct reader *r, struct levels_settled *l)
{
    struct settled_sums *s = &l->sums;
    double told[SUMS];
    l->gone = get_count(r);
    l->links = (size_t)get(r);
    s->count = (size_t)get(r);
    double *const reals[] = {&l->misclosure, &l->unlike, &s->square, &s->loops,
                             &s->pairs,      &s->any,    &s->change, &s->redundancy};
    for (size_t i = 0; i < ARRAY_COUNT(reals); i++)
        *reals[i] = get_finite(r);
    for (size_t i = 0; i < SUMS; i++)
        told[i] = get_finite(r);
    memcpy(s->told, told, sizeof(told));
    r->bad |= l->codes > 65536 || l->codes * l->codes * 4 > (size_t)(r->end - r->at);
    if (r->bad)
        return;
    l->mark = arena_alloc(r->arena, l->codes * sizeof(*l->mark));
    l->right = arena_alloc(r->arena, l->codes * sizeof(*l->right));
    l->information = arena_alloc(r->arena, l->codes * l->codes * sizeof(*l->information));
    for (size_t i = 0; i < l->codes && !r->bad; i++) {
        l->mark[i] = get_index(r, i + 1);
        l->right[i] = get_finite(r);
        for (size_t k = 0; k <= i; k++)
            l->information[i * l->codes + k] = l->information[k * l->codes + i] = get_finite(r);
    }
    r->bad |= !(l->misclosure > 0) || !(l->unlike > 0);
}

static void get_kept(struct reader *r, struct settled_links *s)
{
    s->kept = arena_alloc(r->arena, (s->levels.codes + 1) * sizeof(*s->kept));
    for (size_t i = 0; i < s->levels.codes && !r->bad; i++) {
        struct settled_code *c = &s->kept[i];
        c->code = (int64_t)get(r);
        c->at = (int64_t)get(r);
        c->number = get_index(r, s->codes);
        c->line = get(r) != 0;
        c->left = get(r) != 0;
        c->late = get(r) != 0;
        r->bad |= i && c->number <= s->kept[i - 1].number;
    }
    s->gone = arena_alloc(r->arena, (s->levels.gone + 1) * sizeof(*s->gone));
    for (size_t i = 0; i < s->levels.gone && !r->bad; i++)
        s->gone[i] = (int64_t)(get(r) + (uint64_t)(i ? s->gone[i - 1] : 0));
    r->bad |= s->levels.codes + s->levels.gone != s->codes;
}

static void get_judged(struct reader *r, struct settled_links *s)
{
    s->changes = arena_alloc(r->arena, (s->change_count + 1) * sizeof(*s->changes));
    for (size_t i = 0; i < s->change_count && !r->bad; i++) {
        struct settled_change *c = &s->changes[i];
        c->change = get_change(r);
        c->place = get_index(r, s->links);
        c->slower = get(r) != 0;
        c->from = get_index(r, s->codes);
        c->mark = get_index(r, s->codes);
        c->level = get_finite(r);
    }
    s->misfits = arena_alloc(r->arena, (s->misfit_count + 1) * sizeof(*s->misfits));
    for (size_t i = 0; i < s->misfit_count && !r->bad; i++) {
        s->misfits[i].misfit = get_misfit(r);
        s->misfits[i].from = (int64_t)get(r);
        s->misfits[i].to = (int64_t)get(r);
    }
}

static void get_figures(struct reader *r, struct settled_links *s)
{
    s->stretches = (size_t)get(r);
    s->links = (size_t)get(r);
    s->neighbours = (size_t)get(r);
    s->codes = (size_t)get(r);
    int64_t *const keys[] = {&s->newest_link, &s->read_from, &s->context_s,  &s->end_s,
                             &s->end_commit,  &s->seen_s,    &s->seen_commit};
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++)
        *keys[i] = (int64_t)get(r);
    s->newest = get_index(r, s->codes);
    s->newest_s = (int64_t)get(r);
    s->has_line = get(r) != 0;
    s->step_count = (size_t)get(r);
    s->step = get_index(r, s->codes);
    s->accepted_found = get(r) != 0;
    s->accepted_head = get(r) != 0;
    s->accepted_code = (size_t)get(r);
    s->accepted_place = (size_t)get(r);
    s->chain = get(r);
    r->bad |= !text_copy(s->accepted, sizeof(s->accepted), get_text(r));
    r->bad |= s->accepted_found && s->accepted_place < s->links && s->accepted_code >= s->codes;
}

int settled_unpack(struct settled_links *out, const void *bytes, size_t size, struct arena *arena)
{
    struct reader r = {bytes, (const unsigned char *)bytes + size, arena, false};
    struct settled_links s = {0};
    get_figures(&r, &s);
    s.levels.codes = get_count(&r);
    s.change_count = get_count(&r);
    s.misfit_count = get_count(&r);
    get_levels(&r, &s.levels);
    if (!r.bad)
        get_kept(&r, &s);
    if (!r.bad)
        get_judged(&r, &s);
    if (r.bad || r.at != r.end || s.stretches == 0)
        return -1;
    *out = s;
    return 0;
}
