// SPDX-License-Identifier: Apache-2.0
//
// What is settled of a series' links as bytes, and back. Whoever goes on from it relies on its
// numbers, so what does not fit together is refused too.
#include "ci/history/links_pack.h"

#include <math.h>
#include <string.h>

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
