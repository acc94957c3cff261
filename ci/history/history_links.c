// SPDX-License-Identifier: Apache-2.0
//
// A series levelled from the links in the store. A change is a link with the code before that the
// gate's rule called slower or faster; its size is the difference of the two levels, so that marks
// count too, and its interval knows what the loops of links do not add up to.
#include "ci/history/history_links.h"

#include "model/history/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE 0.95

// A link with what it names.
struct fact {
    const struct link_fact *link;
    const struct commit_place *base, *head;
    size_t from, to; // the codes' numbers
};

// The links of a series, in order of the head's commit, then of making.
struct facts {
    struct fact *items;
    size_t count;
    int64_t *codes; // of each number, its key
    size_t code_count;
    struct store *store;
    struct arena *arena;
};

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

static int read_facts(struct facts *out, struct store *store, const struct commit_places *places,
                      const struct series *series, struct arena *arena, struct error *err)
{
    struct facts f = {.store = store, .arena = arena};
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
    return 0;
}

// ---- what they say ----

static struct history_commit place(const struct commit_place *commit)
{
    struct history_commit at = {.time_s = commit->time_s};
    memcpy(at.id, commit->id, sizeof(at.id));
    return at;
}

// A link alone: its own size, and an error that knows how such links close.
static struct interval alone(const struct link_fact *l)
{
    const double reach = normal_quantile(0.5 + 0.5 * CONFIDENCE);
    return interval_about(l->log_ratio, reach * hypot(l->error, levels_prior.sd));
}

// The same two codes were compared once more, with an answer: that is what counts. The links come
// by their heads, so the other is near.
static bool measured_again(const struct facts *f, size_t i)
{
    const struct fact *one = &f->items[i];
    bool again = false;
    for (size_t k = i + 1; k < f->count && f->items[k].head == one->head; k++) {
        const struct fact *other = &f->items[k];
        again |= other->link->back == 1 && other->link->kind != VERDICT_UNDECIDED &&
                 other->from == one->from && other->to == one->to;
    }
    return again;
}

static int take_changes(struct linked_history *out, const struct levels *levels,
                        const struct facts *f, struct arena *arena, struct error *err)
{
    const double reach = out->trouble ? 0 : levels_reach(levels, CONFIDENCE);
    struct linked_change *all = arena_alloc(f->arena, f->count * sizeof(*all));
    for (size_t i = 0; i < f->count; i++) {
        const struct link_fact *l = f->items[i].link;
        char uid[STORE_UID_TEXT];
        double size, error;
        if (l->back != 1 || (l->kind != VERDICT_SLOWER && l->kind != VERDICT_FASTER) ||
            measured_again(f, i))
            continue;
        if (store_link_uid(uid, f->store, l->key, err))
            return -1;
        struct linked_change *c = &all[out->change_count++];
        *c = (struct linked_change){.at = place(f->items[i].head),
                                    .base = place(f->items[i].base),
                                    .evidence = l->log_evidence,
                                    .run = arena_strdup(arena, uid),
                                    .misfit = !out->trouble && levels->fit[i] != LINK_FITS};
        if (out->trouble) {
            c->size = alone(l);
            continue;
        }
        levels_between(&size, &error, levels, f->items[i].from, f->items[i].to);
        c->size = interval_about(size, reach * error);
    }
    out->changes = arena_copy(arena, all, out->change_count * sizeof(*all));
    return 0;
}

static void take_misfits(struct linked_history *out, const struct levels *levels,
                         const struct facts *f, struct arena *arena)
{
    struct linked_misfit *all = arena_alloc(f->arena, f->count * sizeof(*all));
    for (size_t i = 0; i < f->count; i++) {
        const struct fact *one = &f->items[i];
        size_t times = 0;
        if (levels->fit[i] == LINK_FITS)
            continue;
        for (size_t k = 0; k < f->count; k++)
            times += one->from == f->items[k].from && one->to == f->items[k].to;
        if (times == 1)
            all[out->misfit_count++] =
                (struct linked_misfit){place(one->head), place(one->base), one->link->back};
    }
    out->misfits = arena_copy(arena, all, out->misfit_count * sizeof(*all));
}

// The codes of the line of first parents, and the newest of them.
static void take_line(struct linked_history *out, struct linked_levels *all, const struct facts *f)
{
    for (size_t i = 0; i < all->level_count; i++)
        all->levels[i].tried = true;
    for (size_t i = 0; i < f->count; i++) {
        if (f->items[i].link->back == 0)
            continue;
        out->newest = f->items[i].to;
        all->levels[f->items[i].to].tried = all->levels[f->items[i].from].tried = false;
    }
    out->now = all->levels[out->newest].level;
    out->since = place(all->levels[all->levels[out->newest].mark].at);
}

static void take_levels(struct linked_levels *out, const struct levels *levels,
                        const struct facts *f)
{
    const double reach = levels_reach(levels, CONFIDENCE);
    double *errors = arena_alloc(f->arena, levels->codes * sizeof(*errors));
    levels_errors(errors, levels);
    out->level_count = f->code_count;
    out->levels = arena_alloc(f->arena, f->code_count * sizeof(*out->levels));
    for (size_t i = 0; i < f->code_count; i++)
        out->levels[i] = (struct linked_level){
            .level = interval_about(levels->level[i], reach * errors[i]), .mark = levels->mark[i]};
    for (size_t i = f->count; i-- > 0;) { // where each was met first
        out->levels[f->items[i].to].at = f->items[i].head;
        out->levels[f->items[i].from].at = f->items[i].base;
    }
}

// Each link with the code before says with which commit a code came; the first code has none
// before.
static void take_steps(struct linked_levels *out, const struct facts *f)
{
    out->steps = arena_alloc(f->arena, (f->count + 1) * sizeof(*out->steps));
    for (size_t i = 0; i < f->count; i++) {
        const struct fact *one = &f->items[i];
        if (one->link->back != 1)
            continue;
        if (out->step_count == 0)
            out->steps[out->step_count++] = (struct linked_step){one->base, one->from};
        if (out->steps[out->step_count - 1].level != one->to)
            out->steps[out->step_count++] = (struct linked_step){one->head, one->to};
    }
}

// Creep: however many steps it took, each of them may be too small to be one.
static void take_accepted(struct linked_history *out, const struct levels *levels,
                          const struct facts *f, const char *accepted)
{
    size_t code = SIZE_MAX;
    double size, error;
    for (size_t i = 0; accepted && i < f->count && code == SIZE_MAX; i++) {
        const struct fact *one = &f->items[i];
        const bool head = strncmp(one->head->id, accepted, strlen(accepted)) == 0;
        const bool base = strncmp(one->base->id, accepted, strlen(accepted)) == 0;
        code = head ? one->to : base ? one->from : SIZE_MAX;
    }
    if (code == SIZE_MAX)
        return;
    levels_between(&size, &error, levels, code, out->newest);
    if (isfinite(error))
        out->accepted = interval_about(size, levels_reach(levels, CONFIDENCE) * error);
}

int history_links(struct linked_history *out, struct linked_levels *all, struct store *store,
                  const struct commit_places *places, const struct series *series,
                  const char *accepted, struct arena *arena, struct arena *scratch,
                  struct error *err)
{
    struct linked_history found = {.accepted = interval_none, .now = interval_none};
    struct facts f;
    struct error why;
    int status = 0;
    *all = (struct linked_levels){0};
    *out = found;
    if (read_facts(&f, store, places, series, scratch, err))
        return -1;
    if (f.count == 0)
        return 0;
    struct levels *levels = levels_new();
    found.links = f.count;
    for (size_t i = 0; i < f.count; i++) {
        const struct fact *one = &f.items[i];
        found.neighbours += one->link->back == 1;
        found.newest_link = one->link->key > found.newest_link ? one->link->key : found.newest_link;
        levels_add(levels, &(struct level_link){one->from, one->to, one->link->log_ratio,
                                                one->link->error});
    }
    if (levels_close(levels, &levels_prior, &why))
        found.trouble = arena_strdup(arena, why.text);
    status = take_changes(&found, levels, &f, arena, err);
    if (status == 0 && !found.trouble) {
        found.loops = levels->loops;
        found.misclosure = levels->misclosure;
        take_levels(all, levels, &f);
        take_misfits(&found, levels, &f, arena);
        take_line(&found, all, &f);
        take_accepted(&found, levels, &f, accepted);
        take_steps(all, &f);
        found.level_count = all->level_count;
        found.step_count = all->step_count;
    }
    levels_free(levels);
    if (status == 0)
        *out = found;
    return status;
}

bool history_is_linked(const struct linked_history *linked, const struct history_change *change)
{
    for (size_t i = 0; i < linked->change_count; i++) {
        const char *commit = linked->changes[i].at.id;
        if (strcmp(commit, change->at.id) == 0 || (change->held && strstr(change->held, commit)))
            return true;
    }
    return false;
}
