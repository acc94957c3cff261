// SPDX-License-Identifier: Apache-2.0
//
// Settling a stretch of links.
#include "ci/history/links_judged.h"

#include <stdlib.h>
#include <string.h>

// A stretch: its links end at `end`, and are closed with those up to `seen`; both are first links
// of a head. `codes`: how many are named before `end`.
struct stretch {
    size_t end, seen, codes;
};

static size_t codes_named(const struct facts *f, size_t end)
{
    size_t codes = f->settled.codes;
    for (size_t i = f->first; i < end; i++) {
        const struct fact *one = &f->items[i];
        const size_t last = one->from > one->to ? one->from : one->to;
        codes = last >= codes ? last + 1 : codes;
    }
    return codes;
}

// The first link of the first head with a code of that number or a larger one; SIZE_MAX: none has.
static size_t head_with(const struct facts *f, size_t number)
{
    size_t head = f->first;
    for (size_t i = f->first; i < f->count; i++) {
        const struct fact *one = &f->items[i];
        head = f->items[head].head == one->head ? head : i;
        if (one->from >= number || one->to >= number)
            return head;
    }
    return SIZE_MAX;
}

// False: it has not come yet.
static bool find_stretch(struct stretch *out, const struct facts *f)
{
    const size_t enough = f->settled.codes + STRETCH;
    if (f->code_count < enough + LAG)
        return false;
    out->end = head_with(f, enough);
    out->seen = head_with(f, enough + LAG);
    if (out->seen == SIZE_MAX || out->end == f->first)
        return false;
    out->codes = codes_named(f, out->end);
    return true;
}

struct levels *links_level(const struct facts *f, size_t end, struct error *err)
{
    struct levels *levels = levels_new();
    if (f->settled.levels.codes)
        levels_begin(levels, &f->settled.levels);
    for (size_t i = f->first; i < end; i++) {
        const struct fact *one = &f->items[i];
        levels_add(levels, &(struct level_link){link_handle(f, one->from), link_handle(f, one->to),
                                                one->link->log_ratio, one->link->error});
    }
    if (levels_close(levels, &levels_prior, err) == 0)
        return levels;
    levels_free(levels);
    return NULL;
}

// ---- codes ----

static bool *to_keep(const struct facts *f, const struct stretch *stretch, struct arena *arena)
{
    const size_t first = stretch->codes > LATE_AFTER ? stretch->codes - LATE_AFTER : 0;
    const size_t kept = f->settled.levels.codes, all = kept + stretch->codes - f->settled.codes;
    bool *keep = arena_alloc(arena, all * sizeof(*keep));
    for (size_t i = 0; i < all; i++) {
        const size_t number = link_number(f, i);
        const bool late = i < kept ? f->settled.kept[i].late : f->late[number - f->known];
        keep[i] = late || number >= first;
    }
    return keep;
}

// All codes that the stretch's links name, with those that were kept before.
static struct settled_code *describe(const struct facts *f, const struct stretch *stretch,
                                     struct arena *arena)
{
    const size_t kept = f->settled.levels.codes, all = kept + stretch->codes - f->settled.codes;
    struct settled_code *codes = arena_alloc(arena, all * sizeof(*codes));
    for (size_t i = 0; i < all; i++) {
        const size_t number = link_number(f, i);
        if (i < kept)
            codes[i] = f->settled.kept[i];
        else
            codes[i] = (struct settled_code){.code = f->codes[number - f->known],
                                             .at = link_met_at(f, number)->key,
                                             .number = number,
                                             .late = f->late[number - f->known]};
    }
    for (size_t i = f->first; i < stretch->end; i++) {
        const struct fact *one = &f->items[i];
        struct settled_code *from = &codes[link_handle(f, one->from)];
        struct settled_code *to = &codes[link_handle(f, one->to)];
        from->line |= one->link->back > 0;
        to->line |= one->link->back > 0;
        from->left |= one->link->back == 1;
    }
    return codes;
}

static int by_key(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

// Kept codes to the new state, and all others to the stretch's part.
static void part_codes(struct linked_part *out, struct settled_links *to, const struct facts *f,
                       const struct levels *levels, const struct settled_code *codes,
                       const bool *keep, size_t all, struct arena *arena)
{
    const double reach = levels_reach(levels, LINKS_CONFIDENCE);
    const size_t gone = f->settled.levels.gone;
    double *errors = arena_alloc(arena, levels->codes * sizeof(*errors));
    size_t kept = 0;
    levels_errors(errors, levels);
    to->kept = arena_alloc(arena, to->levels.codes * sizeof(*to->kept));
    to->gone = arena_alloc(arena, to->levels.gone * sizeof(*to->gone));
    if (gone)
        memcpy(to->gone, f->settled.gone, gone * sizeof(*to->gone));
    out->numbers = arena_alloc(arena, all * sizeof(*out->numbers));
    out->levels = arena_alloc(arena, all * sizeof(*out->levels));
    for (size_t i = 0; i < all; i++) {
        if (keep[i]) {
            to->kept[kept++] = codes[i];
            continue;
        }
        to->gone[gone + out->level_count] = codes[i].code;
        out->numbers[out->level_count] = codes[i].number;
        out->levels[out->level_count++] =
            (struct linked_level){.at = commit_place_find(f->places, codes[i].at),
                                  .level = interval_about(levels->level[i], reach * errors[i]),
                                  .mark = link_number(f, levels->mark[i]),
                                  .tried = !codes[i].line};
    }
    qsort(to->gone, to->levels.gone, sizeof(*to->gone), by_key);
}

// ---- links ----

// As much of them as a link may span that is not settled.
static void take_context(struct settled_links *to, const struct facts *f,
                         const struct stretch *stretch)
{
    const size_t code = stretch->codes > LATE_AFTER ? stretch->codes - LATE_AFTER : 0;
    size_t first = code < f->settled.codes ? f->first : f->met[code - f->known];
    while (first > f->first && f->items[first - 1].head == f->items[first].head)
        first--;
    to->context_s = f->items[first].head->order_s;
    to->read_from = f->newest_link;
    for (size_t i = first; i < f->count; i++) {
        const int64_t key = f->items[i].link->key;
        to->read_from = key < to->read_from ? key : to->read_from;
    }
}

static void take_line(struct settled_links *to, const struct facts *f, size_t end)
{
    for (size_t i = f->first; i < end; i++) {
        const struct fact *one = &f->items[i];
        to->neighbours += one->link->back == 1;
        if (one->link->back == 0)
            continue;
        to->newest = one->to;
        to->newest_s = one->head->order_s;
        to->has_line = true;
    }
}

static void take_judged(struct settled_links *to, bool *lacking, const struct facts *f,
                        const struct levels *levels, const struct stretch *stretch,
                        struct arena *arena)
{
    const struct settled_links *s = &f->settled;
    const size_t links = stretch->end - f->first;
    to->changes = arena_alloc(arena, (s->change_count + links) * sizeof(*to->changes));
    to->misfits = arena_alloc(arena, (s->misfit_count + links) * sizeof(*to->misfits));
    if (s->change_count)
        memcpy(to->changes, s->changes, s->change_count * sizeof(*to->changes));
    if (s->misfit_count)
        memcpy(to->misfits, s->misfits, s->misfit_count * sizeof(*to->misfits));
    links_take_changes(to->changes, &to->change_count, lacking, f, levels, stretch->end);
    links_take_misfits(to->misfits, &to->misfit_count, f, levels, stretch->end, stretch->seen);
}

bool links_settle(struct linked_part *out, struct facts *f, bool *lacking, struct arena *arena)
{
    struct stretch stretch;
    struct error tangled;
    struct settled_links to = f->settled;
    if (!find_stretch(&stretch, f))
        return false;
    struct levels *levels = links_level(f, stretch.seen, &tangled);
    const size_t all = to.levels.codes + stretch.codes - to.codes;
    bool *keep = to_keep(f, &stretch, arena);
    if (!levels || levels_settle(&to.levels, levels, stretch.end - f->first, keep, arena)) {
        levels_free(levels);
        return false;
    }
    *out = (struct linked_part){0};
    take_judged(&to, lacking, f, levels, &stretch, arena);
    part_codes(out, &to, f, levels, describe(f, &stretch, arena), keep, all, arena);
    levels_free(levels);
    out->steps = arena_alloc(arena, (stretch.end - f->first + 1) * sizeof(*out->steps));
    links_take_steps(out, f, to.step_count > 0, to.step, stretch.end);
    to.step_count += out->step_count;
    if (out->step_count)
        to.step = out->steps[out->step_count - 1].level;
    take_line(&to, f, stretch.end);
    to.stretches++;
    to.links += stretch.end - f->first;
    to.codes = stretch.codes;
    to.newest_link = f->newest_link;
    take_context(&to, f, &stretch);
    to.end_s = f->items[stretch.end].head->order_s;
    to.end_commit = f->items[stretch.end].head->key;
    to.seen_s = f->items[stretch.seen].head->order_s;
    to.seen_commit = f->items[stretch.seen].head->key;
    f->first = stretch.end;
    f->settled = to;
    return true;
}
