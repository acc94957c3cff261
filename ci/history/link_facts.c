// SPDX-License-Identifier: Apache-2.0
//
// Links with what they name. Codes are numbered in the order in which the links name them.
#include "ci/history/link_facts.h"

#include <stdlib.h>

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int in_order(const void *left, const void *right)
{
    const struct fact *a = left, *b = right;
    const int64_t keys[][2] = {{a->head->order_s, b->head->order_s},
                               {a->head->key, b->head->key},
                               {a->link->made_s, b->link->made_s},
                               {a->base->order_s, b->base->order_s},
                               {a->link->key, b->link->key}};
    int order = 0;
    for (size_t i = 0; order == 0 && i < ARRAY_COUNT(keys); i++)
        order = compare(keys[i][0], keys[i][1]);
    return order;
}

// ---- codes ----

static int by_key(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return compare(*a, *b);
}

static int by_number(const void *left, const void *right)
{
    const struct settled_code *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

struct settled_code *link_kept_code(const struct facts *f, size_t number)
{
    const struct settled_links *s = &f->settled;
    const struct settled_code key = {.number = number};
    return s->levels.codes ? bsearch(&key, s->kept, s->levels.codes, sizeof(key), by_number) : NULL;
}

size_t link_handle(const struct facts *f, size_t number)
{
    const struct settled_links *s = &f->settled;
    return number < s->codes ? (size_t)(link_kept_code(f, number) - s->kept)
                             : s->levels.codes + number - s->codes;
}

size_t link_number(const struct facts *f, size_t handle)
{
    const struct settled_links *s = &f->settled;
    return handle < s->levels.codes ? s->kept[handle].number : s->codes + handle - s->levels.codes;
}

const struct commit_place *link_met_at(const struct facts *f, size_t number)
{
    if (number < f->settled.codes)
        return commit_place_find(f->places, link_kept_code(f, number)->at);
    const struct fact *one = &f->items[f->met[number - f->known]];
    return one->from == number ? one->base : one->head;
}

static bool is_gone(const struct settled_links *s, int64_t code)
{
    return s->levels.gone && bsearch(&code, s->gone, s->levels.gone, sizeof(code), by_key);
}

// Slots of numbers + 1 with their codes' keys, a power of two of them.
struct slot {
    int64_t code;
    size_t number;
};
struct numbers {
    struct slot *slots;
    size_t mask;
};

static struct slot *slot_of(struct numbers *n, int64_t code)
{
    size_t at = (size_t)(((uint64_t)code * 0x9e3779b97f4a7c15u) >> 20) & n->mask;
    while (n->slots[at].number && n->slots[at].code != code)
        at = (at + 1) & n->mask;
    n->slots[at].code = code;
    return &n->slots[at];
}

// SIZE_MAX: it is gone.
static size_t number_of(struct facts *f, struct numbers *n, int64_t code, size_t link)
{
    struct slot *slot = slot_of(n, code);
    if (slot->number)
        return slot->number - 1;
    if (is_gone(&f->settled, code))
        return SIZE_MAX;
    f->codes[f->code_count - f->known] = code;
    f->met[f->code_count - f->known] = link;
    slot->number = ++f->code_count;
    return slot->number - 1;
}

// So many codes had come before the link's head.
static void look_whether_late(struct facts *f, size_t number, size_t codes)
{
    if (codes <= number + LATE_AFTER)
        return;
    if (number < f->known)
        link_kept_code(f, number)->late = true;
    else
        f->late[number - f->known] = true;
}

// Each code once, in the order in which the links name them. False: one of them is gone.
static bool number_codes(struct facts *f)
{
    const struct settled_links *s = &f->settled;
    size_t room = 16, before = s->codes;
    bool there = true;
    while (room < 4 * (f->count + s->levels.codes))
        room *= 2;
    struct numbers n = {xcalloc(room, sizeof(*n.slots)), room - 1};
    for (size_t i = 0; i < s->levels.codes; i++)
        slot_of(&n, s->kept[i].code)->number = s->kept[i].number + 1;
    f->known = f->code_count = s->codes;
    f->codes = arena_alloc(f->arena, 2 * (f->count + 1) * sizeof(*f->codes));
    f->met = arena_alloc(f->arena, 2 * (f->count + 1) * sizeof(*f->met));
    f->late = arena_alloc(f->arena, 2 * (f->count + 1) * sizeof(*f->late));
    for (size_t i = f->first; i < f->count && there; i++) {
        struct fact *one = &f->items[i];
        if (i > f->first && one->head != f->items[i - 1].head)
            before = f->code_count;
        one->from = number_of(f, &n, one->link->base_code, i);
        one->to = number_of(f, &n, one->link->head_code, i);
        there = one->from != SIZE_MAX && one->to != SIZE_MAX;
        if (there) {
            look_whether_late(f, one->from, before);
            look_whether_late(f, one->to, before);
        }
    }
    free(n.slots);
    return there;
}

// ---- the newest code ----

int link_newest_code(int64_t *code, size_t *run, struct store *store,
                     const struct commit_places *places, const struct series *series,
                     struct error *err)
{
    *run = SIZE_MAX;
    *code = 0;
    for (size_t i = 0; i < places->run_count && *code == 0; i++) {
        if (store_run_code(code, store, places->runs[i].run, series, err))
            return -1;
        *run = *code ? i : SIZE_MAX;
    }
    return 0;
}

static int64_t key_of(const struct facts *f, size_t number)
{
    return number < f->settled.codes ? link_kept_code(f, number)->code
                                     : f->codes[number - f->known];
}

// The number of a code that came back; SIZE_MAX: no link names it.
static size_t known_code(struct facts *f, int64_t code)
{
    for (size_t i = 0; i < f->code_count - f->known; i++) {
        if (f->codes[i] == code)
            return f->known + i;
    }
    for (size_t i = 0; i < f->settled.levels.codes; i++) {
        if (f->settled.kept[i].code == code)
            return f->settled.kept[i].number;
    }
    f->newest_gone |= is_gone(&f->settled, code);
    return SIZE_MAX;
}

// A link names the commit that a code came with. A code that came back on a branch that was written
// anew has none there, but a run.
static int find_newest(struct facts *f, struct error *err)
{
    bool any = f->settled.has_line;
    int64_t code, last_s = f->settled.newest_s;
    size_t run;
    f->newest = f->settled.newest;
    for (size_t i = f->first; i < f->count; i++) {
        if (f->items[i].link->back == 0)
            continue;
        f->newest = f->items[i].to;
        last_s = f->items[i].head->order_s;
        any = true;
    }
    f->line_run = SIZE_MAX;
    f->newest_gone = f->newest < f->settled.codes && !link_kept_code(f, f->newest);
    if (link_newest_code(&code, &run, f->store, f->places, f->series, err))
        return -1;
    if (!any || run == SIZE_MAX || f->newest_gone || code == key_of(f, f->newest))
        return 0;
    const struct commit_place *at = commit_place_find(f->places, f->places->runs[run].commit);
    const size_t back = at && at->order_s >= last_s ? known_code(f, code) : SIZE_MAX;
    if (back == SIZE_MAX)
        return 0;
    f->newest = back;
    f->line_run = run;
    return 0;
}

int link_newest_since(const struct commit_place **out, const struct facts *f, struct error *err)
{
    *out = NULL;
    for (size_t i = f->line_run; i < f->places->run_count; i++) {
        const struct line_run *r = &f->places->runs[i];
        const struct commit_place *at = commit_place_find(f->places, r->commit);
        int64_t code;
        if (store_run_code(&code, f->store, r->run, f->series, err))
            return -1;
        if (code && code != key_of(f, f->newest))
            break;
        *out = code && at ? at : *out;
    }
    return 0;
}

// ---- all ----

static bool is_before(const struct commit_place *commit, int64_t order_s, int64_t key)
{
    return commit->order_s != order_s ? commit->order_s < order_s : commit->key < key;
}

// Sorted, as far as their commits are known. False: one that came since belongs before what was
// looked at when the last stretch was settled.
static bool take_facts(struct facts *f, const struct link_fact *links, size_t count)
{
    const struct settled_links *s = &f->settled;
    bool sorted = true;
    f->items = arena_alloc(f->arena, count * sizeof(*f->items));
    for (size_t i = 0; i < count; i++) {
        const struct fact one = {.link = &links[i],
                                 .base = commit_place_find(f->places, links[i].base),
                                 .head = commit_place_find(f->places, links[i].head)};
        if (!one.base || !one.head)
            break; // came after the commits were read: next time, with all that came behind it
        if (s->stretches && links[i].key > s->newest_link &&
            is_before(one.head, s->seen_s, s->seen_commit))
            return false;
        f->items[f->count++] = one;
        f->newest_link = links[i].key;
        sorted = sorted && (f->count == 1 || in_order(&f->items[f->count - 2], &one) < 0);
    }
    if (!sorted)
        qsort(f->items, f->count, sizeof(*f->items), in_order);
    while (s->stretches && f->first < f->count &&
           is_before(f->items[f->first].head, s->end_s, s->end_commit))
        f->first++;
    return true;
}

int link_facts_read(struct facts *out, bool *holds, const struct settled_links *settled,
                    struct store *store, const struct commit_places *places,
                    const struct series *series, struct arena *arena, struct error *err)
{
    struct facts f = {.store = store,
                      .places = places,
                      .series = series,
                      .arena = arena,
                      .settled = *settled,
                      .partial = settled->stretches > 0,
                      .context_s = settled->context_s};
    struct link_fact *links;
    size_t count;
    if (store_link_facts(&links, &count, store, series, settled->read_from, arena, err))
        return -1;
    f.settled.kept =
        arena_copy(arena, settled->kept, settled->levels.codes * sizeof(*settled->kept));
    *holds = take_facts(&f, links, count) && number_codes(&f);
    if (*holds && find_newest(&f, err))
        return -1;
    *out = f;
    return 0;
}
