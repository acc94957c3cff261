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

// Slots of numbers + 1, a power of two of them.
struct numbers {
    size_t *slots, mask;
};

static size_t number_of(struct facts *f, struct numbers *n, int64_t code)
{
    size_t at = (size_t)(((uint64_t)code * 0x9e3779b97f4a7c15u) >> 20) & n->mask;
    while (n->slots[at] && f->codes[n->slots[at] - 1] != code)
        at = (at + 1) & n->mask;
    if (!n->slots[at]) {
        f->codes[f->code_count] = code;
        n->slots[at] = ++f->code_count;
    }
    return n->slots[at] - 1;
}

// Each code once, in the order in which the links name them.
static void number_codes(struct facts *f)
{
    size_t room = 16;
    while (room < 4 * f->count)
        room *= 2;
    struct numbers n = {xcalloc(room, sizeof(*n.slots)), room - 1};
    f->codes = arena_alloc(f->arena, 2 * f->count * sizeof(*f->codes));
    for (size_t i = 0; i < f->count; i++) {
        f->items[i].from = number_of(f, &n, f->items[i].link->base_code);
        f->items[i].to = number_of(f, &n, f->items[i].link->head_code);
    }
    free(n.slots);
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

// A link names the commit that a code came with. A code that came back on a branch that was written
// anew has none there, but a run.
static int find_newest(struct facts *f, struct error *err)
{
    const struct fact *last = NULL;
    int64_t code;
    size_t run;
    for (size_t i = 0; i < f->count; i++)
        last = f->items[i].link->back ? &f->items[i] : last;
    f->newest = last ? last->to : 0;
    f->line_run = SIZE_MAX;
    if (link_newest_code(&code, &run, f->store, f->places, f->series, err))
        return -1;
    if (!last || run == SIZE_MAX || code == f->codes[f->newest])
        return 0;
    const struct commit_place *at = commit_place_find(f->places, f->places->runs[run].commit);
    if (!at || at->order_s < last->head->order_s)
        return 0;
    for (size_t i = 0; i < f->code_count; i++) {
        if (f->codes[i] != code)
            continue;
        f->newest = i;
        f->line_run = run;
    }
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
        if (code && code != f->codes[f->newest])
            break;
        *out = code && at ? at : *out;
    }
    return 0;
}

// ---- all ----

int link_facts_read(struct facts *out, struct store *store, const struct commit_places *places,
                    const struct series *series, struct arena *arena, struct error *err)
{
    struct facts f = {.store = store, .places = places, .series = series, .arena = arena};
    struct link_fact *links;
    bool sorted = true;
    if (store_link_facts(&links, &f.count, store, series, arena, err))
        return -1;
    f.items = arena_alloc(arena, f.count * sizeof(*f.items));
    const size_t count = f.count;
    f.count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct fact one = {.link = &links[i],
                                 .base = commit_place_find(places, links[i].base),
                                 .head = commit_place_find(places, links[i].head)};
        if (!one.base || !one.head)
            continue; // came after the commits were read: next time
        f.items[f.count++] = one;
        sorted = sorted && (f.count == 1 || in_order(&f.items[f.count - 2], &one) < 0);
    }
    if (!sorted)
        qsort(f.items, f.count, sizeof(*f.items), in_order);
    number_codes(&f);
    *out = f;
    return find_newest(out, err);
}
