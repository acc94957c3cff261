// SPDX-License-Identifier: Apache-2.0
//
// A series levelled from the links in the store, stretch by stretch.
#include "ci/history/history_links.h"

#include "baselines/kept/judgement.h"
#include "baselines/kept/kept_links.h"
#include "baselines/link.h"
#include "ci/history/links_pack.h"
#include "model/base.h"
#include "model/history/levels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Links see what no gate would call a change, and codes that only crept are looked at again and
// again, in every series: one in 10,000 is called moved that is not. A gate's evidence does not
// know what pairs cannot see: where that is 0.1 %, 5 of 1,000 codes that are equal are called
// slower or faster by more than 0.3 %. For those to be few among the changes, the same holds.
#define LINKS_SURE 0.9999

// ---- links with what they name ----

// A link with what it names.
struct fact {
    const struct link_fact *link;
    const struct commit_place *base, *head;
    size_t from, to; // the codes' numbers, if it is not settled
};

// The links of a series, in order of the head's commit, then of making. Codes are numbered in the
// order in which the links name them.
struct facts {
    struct fact *items;
    size_t count;
    size_t first;        // those before it are settled
    bool partial;        // not all settled ones are here,
    int64_t context_s;   // but those of heads behind this one, by its order_s
    int64_t newest_link; // the largest key
    struct settled_links settled;
    size_t known;      // codes that were settled when these links were read
    int64_t *codes;    // of the numbers from there on, the key
    size_t *met;       // and the link that names it first
    bool *late;        // and whether one names it late
    size_t code_count; // with those that are settled
    size_t newest;     // number of the newest code
    size_t line_run;   // index of the plain run that has it; SIZE_MAX: the newest link has it
    bool newest_gone;  // the newest code is one that is settled and gone
    struct store *store;
    const struct commit_places *places;
    const struct series *series;
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

static int by_code(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return compare(*a, *b);
}

static int by_number(const void *left, const void *right)
{
    const struct settled_code *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

// The kept code of a number below settled.codes; NULL: it is gone.
static struct settled_code *link_kept_code(const struct facts *f, size_t number)
{
    const struct settled_links *s = &f->settled;
    const struct settled_code key = {.number = number};
    return s->levels.codes ? bsearch(&key, s->kept, s->levels.codes, sizeof(key), by_number) : NULL;
}

// A code that is not gone, as the levels of the links that are not settled number it; and back.
static size_t link_handle(const struct facts *f, size_t number)
{
    const struct settled_links *s = &f->settled;
    return number < s->codes ? (size_t)(link_kept_code(f, number) - s->kept)
                             : s->levels.codes + number - s->codes;
}

static size_t link_number(const struct facts *f, size_t handle)
{
    const struct settled_links *s = &f->settled;
    return handle < s->levels.codes ? s->kept[handle].number : s->codes + handle - s->levels.codes;
}

// The commit where a code that is not gone came first.
static const struct commit_place *link_met_at(const struct facts *f, size_t number)
{
    if (number < f->settled.codes)
        return commit_place_find(f->places, link_kept_code(f, number)->at);
    const struct fact *one = &f->items[f->met[number - f->known]];
    return one->from == number ? one->base : one->head;
}

static bool is_gone(const struct settled_links *s, int64_t code)
{
    return s->levels.gone && bsearch(&code, s->gone, s->levels.gone, sizeof(code), by_code);
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

// The code of the series at the newest commit that a plain run looked at, by its key, and the index
// of that run; 0 and SIZE_MAX: none had one.
static int link_newest_code(int64_t *code, size_t *run, struct store *store,
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
    const bool counts = at && (f->places->line || at->order_s >= last_s);
    const size_t back = counts ? known_code(f, code) : SIZE_MAX;
    if (back == SIZE_MAX)
        return 0;
    f->newest = back;
    f->line_run = run;
    return 0;
}

// Of the plain runs that had the newest code, one after the other back from the newest, the oldest
// one's commit. Only where `line_run` is one.
static int link_newest_since(const struct commit_place **out, const struct facts *f,
                             struct error *err)
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

// In the arena. `places` (store_commit_places) and the series stay where they are. `settled`:
// zeroed to begin anew. *holds: they go on where that ends; else nothing is read.
static int link_facts_read(struct facts *out, bool *holds, const struct settled_links *settled,
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

// ---- changes and misfits ----

// Changes and misfits of links. A change is a link with the code before that the gate's rule called
// slower or faster; its size is the difference of the two levels, so that marks count too, and its
// interval knows what the loops of links do not add up to.

static struct history_commit link_commit(const struct commit_place *commit)
{
    struct history_commit at = {.time_s = commit->time_s};
    memcpy(at.id, commit->id, sizeof(at.id));
    return at;
}

// A link alone: its own size, and an error that knows how such links close.
static struct interval alone(const struct link_fact *l, double confidence)
{
    const double reach = normal_quantile(0.5 + 0.5 * confidence);
    return interval_about(l->log_ratio, reach * hypot(l->error, levels_prior.sd));
}

struct linked_change history_alarm(const struct link_fact *link)
{
    const struct interval wide = alone(link, LINKS_SURE);
    return (struct linked_change){.size = alone(link, CONFIDENCE),
                                  .evidence = link->log_evidence,
                                  .link = link->key,
                                  .sure = wide.low > 0 || wide.high < 0,
                                  .alarm = true,
                                  .left = NAN};
}

static bool same_codes(const struct link_fact *a, const struct link_fact *b)
{
    return a->base_code == b->base_code && a->head_code == b->head_code;
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
                 same_codes(other->link, one->link);
    }
    return again;
}

// A link of neighbours with an answer, between no wider commits than the other's.
static bool is_within(const struct fact *one, const struct fact *wide)
{
    const int64_t later = one->base->order_s - wide->base->order_s;
    const int64_t earlier = wide->head->order_s - one->head->order_s;
    return one->link->back == 1 && one->link->kind != VERDICT_UNDECIDED && later >= 0 &&
           earlier >= 0 && (later || earlier);
}

// The link of this code with the one before it, among those within `wide`; NULL: there is none.
// Links come by their heads.
static const struct fact *link_within(const struct facts *f, size_t wide, int64_t code)
{
    const struct fact *w = &f->items[wide];
    size_t end = wide + 1;
    while (end < f->count && f->items[end].head == w->head)
        end++;
    for (size_t i = end; i-- > 0 && f->items[i].head->order_s >= w->base->order_s;) {
        if (f->items[i].link->head_code == code && is_within(&f->items[i], w))
            return &f->items[i];
    }
    return NULL;
}

// Its codes were neighbours while nobody had measured the commits between them. Since then links
// within lead from one to the other, and they say which commit it was; so they do where the commits
// were written anew and the codes stayed.
static bool is_filled(const struct facts *f, size_t wide)
{
    const struct link_fact *w = f->items[wide].link;
    const struct fact *one = &f->items[wide];
    int64_t code = w->head_code;
    for (size_t steps = 0; one && code != w->base_code && steps <= f->code_count; steps++) {
        one = link_within(f, wide, code);
        code = one ? one->link->base_code : code;
    }
    return code == w->base_code;
}

// Whether all links that may lie within this one were read.
static bool is_spanned(const struct facts *f, size_t i)
{
    return !f->partial || f->items[i].base->order_s > f->context_s;
}

// The code that came with this link was the series' before.
static bool goes_back(const struct facts *f, size_t i)
{
    const size_t to = f->items[i].to;
    bool back = to < f->settled.codes && link_kept_code(f, to)->left;
    for (size_t k = f->first; k < i; k++)
        back |= f->items[k].link->back == 1 && f->items[k].from == to &&
                f->items[k].head->order_s < f->items[i].head->order_s;
    return back;
}

static void judge(struct settled_change *s, const struct facts *f, const struct levels *levels,
                  size_t i, double reach)
{
    const struct fact *one = &f->items[i];
    struct linked_change *c = &s->change;
    double size, error;
    if (!levels) {
        const struct interval wide = alone(one->link, LINKS_SURE);
        c->size = alone(one->link, CONFIDENCE);
        c->sure = wide.low > 0 || wide.high < 0;
        return;
    }
    const size_t from = link_handle(f, one->from), to = link_handle(f, one->to);
    c->misfit = levels->fit[i - f->first] != LINK_FITS;
    levels_between(&size, &error, levels, from, to);
    c->size = interval_about(size, reach * error);
    c->sure = levels_link_chance(levels, i - f->first, size / error) < 1 - LINKS_SURE;
    s->level = levels->level[from];
    s->mark = link_number(f, levels->mark[from]);
}

// Adds the links that are called slower or faster, are not settled and lie before `end`, behind
// out[0..*count - 1], which has room for all. *lacking: one of them spans links that were not read.
// `levels` NULL: each link alone.
static void links_take_changes(struct settled_change *out, size_t *count, bool *lacking,
                               const struct facts *f, const struct levels *levels, size_t end)
{
    const double reach = levels ? levels_reach(levels, CONFIDENCE) : 0;
    for (size_t i = f->first; i < end; i++) {
        const struct link_fact *l = f->items[i].link;
        if (l->back != 1 || (l->kind != VERDICT_SLOWER && l->kind != VERDICT_FASTER) ||
            measured_again(f, i))
            continue;
        *lacking |= !is_spanned(f, i);
        struct settled_change *s = &out[(*count)++];
        *s = (struct settled_change){.place = f->settled.links + (i - f->first),
                                     .slower = l->kind == VERDICT_SLOWER,
                                     .from = f->items[i].from};
        s->change = (struct linked_change){.at = link_commit(f->items[i].head),
                                           .base = link_commit(f->items[i].base),
                                           .evidence = l->log_evidence,
                                           .link = l->key,
                                           .back = goes_back(f, i),
                                           .filled = is_filled(f, i),
                                           .left = NAN};
        judge(s, f, levels, i, reach);
    }
}

static size_t times_of(const struct facts *f, int64_t from, int64_t to, size_t end)
{
    size_t times = 0;
    for (size_t k = f->first; k < end; k++)
        times += f->items[k].link->base_code == from && f->items[k].link->head_code == to;
    return times;
}

// Adds the misfits before `end` in the same way; `seen` says how far the links are levelled. A
// misfit in out[] that has been measured again by then is taken out.
static void links_take_misfits(struct settled_misfit *out, size_t *count, const struct facts *f,
                               const struct levels *levels, size_t end, size_t seen)
{
    const size_t before = *count;
    *count = 0;
    for (size_t i = 0; i < before; i++) {
        if (times_of(f, out[i].from, out[i].to, seen) == 0)
            out[(*count)++] = out[i];
    }
    for (size_t i = f->first; i < end; i++) {
        const struct fact *one = &f->items[i];
        const struct link_fact *l = one->link;
        if (levels->fit[i - f->first] == LINK_FITS ||
            times_of(f, l->base_code, l->head_code, seen) != 1)
            continue;
        out[(*count)++] = (struct settled_misfit){
            {link_commit(one->head), link_commit(one->base), l->back}, l->base_code, l->head_code};
    }
}

// Each link with the code before says with which commit a code came; the first code has none
// before.
static void links_take_steps(struct linked_part *out, const struct facts *f, bool any, size_t code,
                             size_t end)
{
    for (size_t i = f->first; i < end; i++) {
        const struct fact *one = &f->items[i];
        if (one->link->back != 1)
            continue;
        if (!any) {
            out->steps[out->step_count++] = (struct linked_step){one->base, one->from};
            code = one->from;
        }
        any = true;
        if (code != one->to)
            out->steps[out->step_count++] = (struct linked_step){one->head, one->to};
        code = one->to;
    }
}

struct links_found {
    struct linked_history history;
    struct settled_links settled; // with what this look settled
    struct linked_part *parts;    // the stretches that it settled, and all the rest as the last
    size_t part_count;            // 0: there are no levels
};

// ---- settling a stretch of links ----

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

// The links that are not settled, up to `end`: closed. NULL: they are too tangled. The caller:
// levels_free.
static struct levels *links_level(const struct facts *f, size_t end, struct error *err)
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
    const double reach = levels_reach(levels, CONFIDENCE);
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

static void settle_line(struct settled_links *to, const struct facts *f, size_t end)
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

// Settles the next stretch, if it has come: then *out is its part, facts->settled all of it, and
// facts->first the first link that is not settled. All in the arena. *lacking is set if not all
// that is needed was read.
static bool links_settle(struct linked_part *out, struct facts *f, bool *lacking,
                         struct arena *arena)
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
    settle_line(&to, f, stretch.end);
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

static const double moved_margin = 0.003;

// A look: what it goes by, and what it has found so far.
struct look {
    struct facts f;
    struct levels *levels; // of the links that are not settled; NULL: each counts alone
    struct settled_change *changes;
    size_t change_count, part_room;
    struct links_found *found;
    const char *accepted;
    bool lacking; // not all that is needed was read
};

// ---- changes ----

// The level of a code that may be gone, with its mark; both by number.
static double level_of(size_t *mark, const struct look *look, const struct settled_change *c)
{
    const struct facts *f = &look->f;
    *mark = c->mark;
    if (c->from < f->settled.codes && !link_kept_code(f, c->from))
        return c->level;
    const size_t handle = link_handle(f, c->from);
    *mark = link_number(f, look->levels->mark[handle]);
    return look->levels->level[handle];
}

static void take_changes(struct look *look, struct arena *arena)
{
    const struct settled_links *s = &look->f.settled;
    struct linked_history *out = &look->found->history;
    look->change_count = s->change_count;
    look->changes =
        arena_alloc(look->f.arena, (s->change_count + look->f.count + 1) * sizeof(*look->changes));
    if (s->change_count)
        memcpy(look->changes, s->changes, s->change_count * sizeof(*look->changes));
    links_take_changes(look->changes, &look->change_count, &look->lacking, &look->f, look->levels,
                       look->f.count);
    out->changes = arena_alloc(arena, (look->change_count + 1) * sizeof(*out->changes));
    out->change_count = look->change_count;
    for (size_t i = 0; i < look->change_count; i++)
        out->changes[i] = look->changes[i].change;
}

static void take_left(struct look *look)
{
    const size_t newest = link_handle(&look->f, look->f.newest);
    const size_t mark = link_number(&look->f, look->levels->mark[newest]);
    for (size_t i = 0; i < look->change_count; i++) {
        size_t from_mark;
        const double level = level_of(&from_mark, look, &look->changes[i]);
        if (from_mark == mark)
            look->found->history.changes[i].left = look->levels->level[newest] - level;
    }
}

static void take_misfits(struct look *look, struct arena *arena)
{
    const struct facts *f = &look->f;
    const struct settled_links *s = &f->settled;
    struct linked_history *out = &look->found->history;
    struct settled_misfit *all =
        arena_alloc(f->arena, (s->misfit_count + f->count + 1) * sizeof(*all));
    out->misfit_count = s->misfit_count;
    if (s->misfit_count)
        memcpy(all, s->misfits, s->misfit_count * sizeof(*all));
    links_take_misfits(all, &out->misfit_count, f, look->levels, f->count, f->count);
    out->misfits = arena_alloc(arena, (out->misfit_count + 1) * sizeof(*out->misfits));
    for (size_t i = 0; i < out->misfit_count; i++)
        out->misfits[i] = all[i].misfit;
}

// ---- levels ----

// Takes the levels of all codes that are still there.
static void take_levels(struct linked_part *out, const struct look *look)
{
    const struct facts *f = &look->f;
    const struct levels *levels = look->levels;
    const double reach = levels_reach(levels, CONFIDENCE);
    double *errors = arena_alloc(f->arena, levels->codes * sizeof(*errors));
    levels_errors(errors, levels);
    out->level_count = levels->codes;
    out->numbers = arena_alloc(f->arena, levels->codes * sizeof(*out->numbers));
    out->levels = arena_alloc(f->arena, levels->codes * sizeof(*out->levels));
    for (size_t i = 0; i < levels->codes; i++) {
        const size_t number = link_number(f, i);
        const struct settled_code *kept = number < f->settled.codes ? link_kept_code(f, number) : 0;
        out->numbers[i] = number;
        out->levels[i] =
            (struct linked_level){.at = link_met_at(f, number),
                                  .level = interval_about(levels->level[i], reach * errors[i]),
                                  .mark = link_number(f, levels->mark[i]),
                                  .tried = !kept || !kept->line};
    }
    for (size_t i = f->first; i < f->count; i++) {
        if (f->items[i].link->back == 0)
            continue;
        out->levels[link_handle(f, f->items[i].from)].tried = false;
        out->levels[link_handle(f, f->items[i].to)].tried = false;
    }
}

// One that came back without a link has the first run that saw it.
static int take_steps(struct linked_part *out, const struct look *look, struct error *err)
{
    const struct facts *f = &look->f;
    const struct settled_links *s = &f->settled;
    out->steps = arena_alloc(f->arena, (f->count - f->first + 2) * sizeof(*out->steps));
    links_take_steps(out, f, s->step_count > 0, s->step, f->count);
    if (f->line_run == SIZE_MAX || s->step_count + out->step_count == 0)
        return 0;
    out->steps[out->step_count].level = f->newest;
    return link_newest_since(&out->steps[out->step_count++].at, f, err);
}

static void take_line(struct look *look, const struct linked_part *rest)
{
    const struct facts *f = &look->f;
    struct linked_history *out = &look->found->history;
    const size_t newest = link_handle(f, f->newest);
    out->newest = f->newest;
    out->now = rest->levels[newest].level;
    out->since = link_commit(link_met_at(f, rest->levels[newest].mark));
}

// ---- what moved ----

// The code that came with the accepted commit, and the first link that names that; before anything
// more is settled.
static void find_accepted(struct facts *f, const char *accepted)
{
    struct settled_links *s = &f->settled;
    const size_t length = accepted ? strlen(accepted) : 0;
    text_copy(s->accepted, sizeof(s->accepted), accepted ? accepted : "");
    s->accepted_found &= s->accepted_place < s->links;
    for (size_t i = f->first; length && !s->accepted_found && i < f->count; i++) {
        const struct fact *one = &f->items[i];
        s->accepted_head = strncmp(one->head->id, accepted, length) == 0;
        if (!s->accepted_head && strncmp(one->base->id, accepted, length) != 0)
            continue;
        s->accepted_found = true;
        s->accepted_code = s->accepted_head ? one->to : one->from;
        s->accepted_place = s->links + (i - f->first);
    }
}

// A change towards where the series is now, from that link on.
static bool changed_since(const struct look *look, size_t first, double size)
{
    bool changed = false;
    for (size_t i = 0; i < look->change_count; i++) {
        const struct settled_change *c = &look->changes[i];
        changed |=
            c->place >= first && c->slower == (size > 0) && !c->change.misfit && !c->change.filled;
    }
    return changed;
}

// Whether a level has crept. A change was judged by the gate. A creep was judged by nobody, because
// each of its steps may be too small to be a change.
static bool has_moved(const struct look *look, size_t first, double size, double error)
{
    const bool changed = changed_since(look, first, size);
    const double reach = levels_reach(look->levels, changed ? CONFIDENCE : LINKS_SURE);
    return fabs(size) > moved_margin && fabs(size) > reach * error;
}

static void take_moved(struct look *look)
{
    const struct facts *f = &look->f;
    struct linked_history *out = &look->found->history;
    const size_t newest = link_handle(f, f->newest);
    size_t code = look->levels->mark[newest], first = 0;
    double size, error;
    if (look->accepted) {
        const struct settled_links *s = &f->settled;
        if (!s->accepted_found)
            return;
        first = s->accepted_place + s->accepted_head; // after it
        code = link_handle(f, s->accepted_code);
    }
    levels_between(&size, &error, look->levels, code, newest);
    if (!isfinite(error))
        return;
    if (look->accepted)
        out->accepted = interval_about(size, levels_reach(look->levels, CONFIDENCE) * error);
    out->moved = has_moved(look, first, size, error);
}

// ---- all ----

static struct linked_part *add_part(struct look *look)
{
    struct links_found *found = look->found;
    if (found->part_count == look->part_room) {
        look->part_room = look->part_room ? 2 * look->part_room : 4;
        struct linked_part *grown = arena_alloc(look->f.arena, look->part_room * sizeof(*grown));
        if (found->part_count)
            memcpy(grown, found->parts, found->part_count * sizeof(*grown));
        found->parts = grown;
    }
    found->parts[found->part_count] = (struct linked_part){0};
    return &found->parts[found->part_count];
}

static void settle(struct look *look)
{
    while (links_settle(add_part(look), &look->f, &look->lacking, look->f.arena))
        look->found->part_count++;
}

static bool names_gone(const struct facts *f, size_t number)
{
    return number < f->settled.codes && !link_kept_code(f, number);
}

// Whether the settled links do not suffice: a code that is gone is asked for, or the links are too
// tangled.
static bool asks_for_more(const struct look *look)
{
    const struct facts *f = &look->f;
    const struct settled_links *s = &f->settled;
    return names_gone(f, f->newest) || (s->accepted_found && names_gone(f, s->accepted_code)) ||
           (!look->levels && s->stretches);
}

static void begin(struct look *look)
{
    const struct facts *f = &look->f;
    struct linked_history *out = &look->found->history;
    *out = (struct linked_history){.accepted = interval_none,
                                   .now = interval_none,
                                   .links = f->settled.links + f->count - f->first,
                                   .neighbours = f->settled.neighbours,
                                   .newest_link = f->newest_link};
    for (size_t i = f->first; i < f->count; i++)
        out->neighbours += f->items[i].link->back == 1;
}

static int conclude(struct look *look, struct arena *arena, struct error *err)
{
    struct links_found *found = look->found;
    struct linked_history *out = &found->history;
    const struct facts *f = &look->f;
    begin(look);
    take_changes(look, arena);
    if (!look->levels)
        return 0;
    out->loops = look->levels->loops;
    out->misclosure = look->levels->misclosure;
    struct linked_part *rest = add_part(look);
    found->part_count++;
    take_levels(rest, look);
    take_left(look);
    take_misfits(look, arena);
    take_line(look, rest);
    take_moved(look);
    out->level_count = f->code_count;
    if (take_steps(rest, look, err))
        return -1;
    out->step_count = f->settled.step_count + rest->step_count;
    return 0;
}

// All links are levelled together.
static void unsettle(struct look *look)
{
    struct settled_links *s = &look->f.settled;
    levels_free(look->levels);
    s->levels = (struct levels_settled){0};
    s->stretches = s->links = s->neighbours = s->codes = 0;
    s->change_count = s->misfit_count = s->step_count = 0;
    look->f.first = look->found->part_count = 0;
}

// *holds: nothing that is not here is asked for.
static int look_at(struct look *look, bool *holds, struct arena *arena, struct error *err)
{
    struct facts *f = &look->f;
    struct error why;
    settle(look);
    look->levels = links_level(f, f->count, &why);
    *holds = !look->lacking && (!f->partial || !asks_for_more(look));
    if (!*holds)
        return 0;
    if (asks_for_more(look)) {
        unsettle(look);
        look->levels = links_level(f, f->count, &why);
    }
    const int status = conclude(look, arena, err);
    if (!look->levels)
        look->found->history.trouble = arena_strdup(arena, why.text);
    *holds = !look->lacking;
    return status;
}

// `from`: what was settled, or NULL to begin with the first link. *holds: it could go on from
// there; else nothing is found. All but what the history needs may stand in `scratch`.
static int links_find(struct links_found *out, bool *holds, const struct settled_links *from,
                      struct store *store, const struct commit_places *places,
                      const struct series *series, const char *accepted, struct arena *arena,
                      struct arena *scratch, struct error *err)
{
    static const struct settled_links none;
    struct links_found found = {.history = {.accepted = interval_none, .now = interval_none}};
    struct look look = {.found = &found, .accepted = accepted};
    *out = found;
    *holds = !from || strcmp(from->accepted, accepted ? accepted : "") == 0;
    if (!*holds)
        return 0;
    if (link_facts_read(&look.f, holds, from ? from : &none, store, places, series, scratch, err))
        return -1;
    *holds &= !look.f.newest_gone;
    if (!*holds || look.f.count == 0)
        return 0;
    find_accepted(&look.f, accepted);
    const int status = look_at(&look, holds, arena, err);
    levels_free(look.levels);
    found.settled = look.f.settled;
    if (status == 0 && *holds)
        *out = found;
    return status;
}

// ---- as one ----

static bool put_part(struct linked_levels *out, size_t *steps, const struct linked_part *part)
{
    for (size_t i = 0; i < part->level_count; i++) {
        const size_t number = part->numbers[i];
        if (number >= out->level_count || out->levels[number].at ||
            part->levels[i].mark >= out->level_count)
            return false;
        out->levels[number] = part->levels[i];
    }
    for (size_t i = 0; i < part->step_count; i++) {
        if (*steps == out->step_count || part->steps[i].level >= out->level_count)
            return false;
        out->steps[(*steps)++] = part->steps[i];
    }
    return true;
}

// All parts of a history as one. -1: some code is in none of them, or in two, or a mark is none.
static int links_join(struct linked_levels *out, const struct linked_history *history,
                      const struct linked_part *parts, size_t count, struct arena *arena)
{
    struct linked_levels all = {.level_count = history->level_count,
                                .step_count = history->step_count};
    size_t levels = 0, steps = 0;
    for (size_t i = 0; i < count; i++)
        levels += parts[i].level_count;
    if (levels != all.level_count)
        return -1;
    all.levels = arena_alloc(arena, (all.level_count + 1) * sizeof(*all.levels));
    all.steps = arena_alloc(arena, (all.step_count + 1) * sizeof(*all.steps));
    for (size_t i = 0; i < count; i++) {
        if (!put_part(&all, &steps, &parts[i]))
            return -1;
    }
    if (steps != all.step_count)
        return -1;
    *out = all;
    return 0;
}

int history_links(struct linked_history *out, struct linked_levels *levels, struct store *store,
                  const struct commit_places *places, const struct series *series,
                  const char *accepted, struct arena *arena, struct arena *scratch,
                  struct error *err)
{
    struct links_found found;
    bool holds;
    if (links_find(&found, &holds, NULL, store, places, series, accepted, arena, scratch, err))
        return -1;
    *levels = (struct linked_levels){0};
    if (links_join(levels, &found.history, found.parts, found.part_count, scratch))
        return error_set(err, "the levels of %s do not fit together", series->kernel);
    *out = found.history;
    return 0;
}

bool history_is_linked(const struct linked_history *linked, const struct history_change *change)
{
    for (size_t i = 0; i < linked->change_count; i++) {
        const char *commit = linked->changes[i].at.id;
        if (linked->changes[i].filled)
            continue;
        if (strcmp(commit, change->at.id) == 0 || (change->held && strstr(change->held, commit)))
            return true;
    }
    return false;
}

// ---- keeping what links said ----

// Keeping what links said. What is kept of the levels names how many stretches lie before it, and a
// hash of all of their bytes, so that no stretch of another look is taken for one of this.

// Raised when the same links would say something else, or say it in other bytes.
enum { LINKS_KEPT_VERSION = 16 };

// Names what kept links depend on. Their judgement depends on the newest code, too, which may have
// come without a link.
static int maker_of(char out[KEPT_LINKS_MAKER], struct store *store,
                    const struct commit_places *places, const struct series *series,
                    const char *accepted, struct error *err)
{
    int64_t code;
    size_t run;
    if (link_newest_code(&code, &run, store, places, series, err))
        return -1;
    const uint64_t hash = hash_bytes(HASH_START, &code, sizeof(code));
    snprintf(out, KEPT_LINKS_MAKER, "%d/%016llx", LINKS_KEPT_VERSION,
             (unsigned long long)hash_text(hash, accepted ? accepted : ""));
    return 0;
}

// Names what settled links depend on: the links alone.
static void settled_maker(char out[KEPT_LINKS_MAKER])
{
    snprintf(out, KEPT_LINKS_MAKER, "%d/%d/%d/%d", LINKS_KEPT_VERSION, STRETCH, LAG, LATE_AFTER);
}

// ---- looking ----

// On from what is settled, if that is kept and holds; else from the first link.
static int find_further(struct links_found *out, struct store *store,
                        const struct commit_places *places, const struct series *series,
                        const char *accepted, struct arena *arena, struct arena *scratch,
                        struct error *err)
{
    struct kept_settled kept;
    struct settled_links settled;
    char maker[KEPT_LINKS_MAKER];
    bool holds = false;
    settled_maker(maker);
    if (store_load_settled(&kept, store, series, scratch, err))
        return -1;
    if (strcmp(kept.maker, maker) == 0 &&
        settled_unpack(&settled, kept.settled, kept.size, scratch) == 0 &&
        links_find(out, &holds, &settled, store, places, series, accepted, arena, scratch, err))
        return -1;
    return holds ? 0
                 : links_find(out, &holds, NULL, store, places, series, accepted, arena, scratch,
                              err);
}

// ---- keeping ----

static const void *bytes_of(struct buffer *from, size_t *size, struct arena *arena)
{
    *size = from->length;
    const void *bytes = arena_copy(arena, from->bytes, from->length);
    buffer_free(from);
    return bytes;
}

// The stretches that were settled now, and what is settled with them.
static void keep_settled(struct kept_links *fresh, struct links_found *found, struct arena *arena)
{
    struct settled_links *s = &found->settled;
    const size_t count = found->part_count ? found->part_count - 1 : 0;
    struct kept_stretch *stretches = arena_alloc(arena, (count + 1) * sizeof(*stretches));
    struct buffer bytes = {0};
    if (s->stretches == count)
        s->chain = HASH_START;
    for (size_t i = 0; i < count; i++) {
        struct kept_stretch *k = &stretches[i];
        linked_part_pack(&bytes, &found->parts[i]);
        k->number = s->stretches - count + i;
        k->levels = bytes_of(&bytes, &k->size, arena);
        s->chain = hash_bytes(s->chain, k->levels, k->size);
    }
    fresh->stretches = stretches;
    fresh->stretch_count = count;
    if (count == 0)
        return;
    settled_maker(fresh->settled.maker);
    settled_pack(&bytes, s);
    fresh->settled.settled = bytes_of(&bytes, &fresh->settled.size, arena);
}

static void keep(struct kept_links *fresh, struct links_found *found, struct arena *arena)
{
    struct buffer bytes = {0};
    keep_settled(fresh, found, arena);
    linked_pack(&bytes, &found->history);
    fresh->newest_link = found->history.newest_link;
    fresh->found = bytes_of(&bytes, &fresh->size, arena);
    put(&bytes, found->settled.stretches);
    put(&bytes, found->settled.chain);
    if (found->part_count)
        linked_part_pack(&bytes, &found->parts[found->part_count - 1]);
    fresh->levels = bytes_of(&bytes, &fresh->levels_size, arena);
}

int history_links_kept(struct linked_history *out, struct kept_links *fresh, struct store *store,
                       const struct commit_places *places, const struct series *series,
                       const char *accepted, struct arena *arena, struct arena *kept_in,
                       struct error *err)
{
    struct kept_links kept;
    struct links_found found;
    struct arena scratch = {0};
    int64_t newest;
    *out = (struct linked_history){.accepted = interval_none, .now = interval_none};
    *fresh = (struct kept_links){0};
    int status = store_newest_link(&newest, store, series, err);
    if (status == 0 && newest)
        status = store_load_kept_links(&kept, store, series, &scratch, err);
    if (status == 0 && newest)
        status = maker_of(fresh->maker, store, places, series, accepted, err);
    if (status || newest == 0)
        goto done;
    if (strcmp(kept.maker, fresh->maker) == 0 && kept.newest_link == newest &&
        linked_unpack(out, kept.found, kept.size, arena) == 0)
        goto done;
    status = find_further(&found, store, places, series, accepted, arena, &scratch, err);
    if (status)
        goto done;
    *out = found.history;
    keep(fresh, &found, kept_in);
done:
    arena_free(&scratch);
    return status;
}

// ---- levels ----

// False: they are not those that `linked` was found with, or not whole.
static bool unpack_levels(struct linked_levels *out, const struct linked_history *linked,
                          const struct kept_links *kept, const struct kept_stretch *stretches,
                          size_t count, const struct commit_places *places, struct arena *arena)
{
    struct reader r = {kept->levels, (const unsigned char *)kept->levels + kept->levels_size, arena,
                       false};
    struct linked_part *parts = arena_alloc(arena, (count + 1) * sizeof(*parts));
    uint64_t chain = HASH_START;
    const uint64_t named = get(&r), whole = get(&r);
    if (r.bad || named > count)
        return false;
    for (size_t i = 0; i < named; i++) {
        if (stretches[i].number != i ||
            linked_part_unpack(&parts[i], stretches[i].levels, stretches[i].size, places, arena))
            return false;
        chain = hash_bytes(chain, stretches[i].levels, stretches[i].size);
    }
    return (named == 0 || chain == whole) &&
           linked_part_unpack(&parts[named], r.at, (size_t)(r.end - r.at), places, arena) == 0 &&
           links_join(out, linked, parts, named + 1, arena) == 0;
}

int history_linked_levels(struct linked_levels *out, const struct linked_history *linked,
                          struct store *store, const struct commit_places *places,
                          const struct series *series, const char *accepted, struct arena *arena,
                          struct error *err)
{
    struct kept_links kept;
    struct kept_stretch *stretches;
    struct linked_history again;
    struct arena scratch = {0};
    char maker[KEPT_LINKS_MAKER];
    size_t count;
    int status = 0;
    *out = (struct linked_levels){0};
    if (linked->level_count == 0)
        return 0;
    if (maker_of(maker, store, places, series, accepted, err) ||
        store_load_kept_levels(&kept, store, series, &scratch, err) ||
        store_load_stretches(&stretches, &count, store, series, &scratch, err))
        status = -1;
    const bool here = status == 0 && strcmp(kept.maker, maker) == 0 &&
                      kept.newest_link == linked->newest_link &&
                      unpack_levels(out, linked, &kept, stretches, count, places, arena);
    if (status == 0 && !here)
        status = history_links(&again, out, store, places, series, accepted, &scratch, arena, err);
    arena_free(&scratch);
    return status;
}
