// SPDX-License-Identifier: Apache-2.0
//
// Computes a series' levels from the links in the store.
#include "ci/history/load.h"

#include "baselines/judgement.h"
#include "baselines/store.h"
#include "model/base.h"
#include "model/history/levels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Links show changes that no gate would report, and codes that only crept are looked at again and
// again in every series. So one in 10,000 may be called moved by mistake. A gate's evidence does
// not include the errors that pairs cannot show: if these are 0.1 %, 5 of 1,000 equal codes are
// called slower or faster by more than 0.3 %. So that few of the changes are false, they must meet
// the same limit.
#define LINKS_SURE 0.9999

// ---- links and their commits ----

// A link with its codes and commits.
struct fact {
    const struct link_fact *link;
    const struct commit_place *base, *head;
    size_t from, to; // numbers of the codes
};

// The links of a series, sorted by the head's commit, then by the time of making. Codes are
// numbered in the order in which the links name them.
struct facts {
    struct fact *items;
    size_t count;
    int64_t newest_link; // the largest key
    int64_t *codes;      // for each number the code's key,
    size_t *met;         // the index of the first link that names it,
    int64_t *left_s;     // and the order_s of the first link whose head is the next code
    size_t code_count;
    size_t newest;   // the newest code's number
    size_t line_run; // index of the plain run that has it; SIZE_MAX: the newest link has it
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

// The commit where a code came first.
static const struct commit_place *link_met_at(const struct facts *f, size_t number)
{
    const struct fact *one = &f->items[f->met[number]];
    return one->from == number ? one->base : one->head;
}

// A hash table: slots with number + 1 of the code with that key; its size is a power of two.
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

static size_t number_of(struct facts *f, struct numbers *n, int64_t code, size_t link)
{
    struct slot *slot = slot_of(n, code);
    if (slot->number)
        return slot->number - 1;
    f->codes[f->code_count] = code;
    f->met[f->code_count] = link;
    f->left_s[f->code_count] = INT64_MAX;
    slot->number = ++f->code_count;
    return slot->number - 1;
}

// Numbers each code once, in the order in which the links name them.
static void number_codes(struct facts *f)
{
    size_t room = 16;
    while (room < 4 * f->count)
        room *= 2;
    struct numbers n = {xcalloc(room, sizeof(*n.slots)), room - 1};
    f->codes = arena_alloc(f->arena, 2 * (f->count + 1) * sizeof(*f->codes));
    f->met = arena_alloc(f->arena, 2 * (f->count + 1) * sizeof(*f->met));
    f->left_s = arena_alloc(f->arena, 2 * (f->count + 1) * sizeof(*f->left_s));
    for (size_t i = 0; i < f->count; i++) {
        struct fact *one = &f->items[i];
        one->from = number_of(f, &n, one->link->base_code, i);
        one->to = number_of(f, &n, one->link->head_code, i);
        if (one->link->back == 1 && one->head->order_s < f->left_s[one->from])
            f->left_s[one->from] = one->head->order_s;
    }
    free(n.slots);
}

// ---- the newest code ----

// Finds the series' code at the newest commit that a plain run measured, and the index of that run;
// 0 and SIZE_MAX if no run has one.
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

// The number of a code that came back; SIZE_MAX: no link names it.
static size_t known_code(const struct facts *f, int64_t code)
{
    size_t number = 0;
    while (number < f->code_count && f->codes[number] != code)
        number++;
    return number < f->code_count ? number : SIZE_MAX;
}

// Finds the commit of the newest code. Usually a link names it. A code that came back when a branch
// was rewritten has no link at its new commit; then a run names it.
static int find_newest(struct facts *f, struct error *err)
{
    bool any = false;
    int64_t code, last_s = 0;
    size_t run;
    for (size_t i = 0; i < f->count; i++) {
        if (f->items[i].link->back == 0)
            continue;
        f->newest = f->items[i].to;
        last_s = f->items[i].head->order_s;
        any = true;
    }
    f->line_run = SIZE_MAX;
    if (link_newest_code(&code, &run, f->store, f->places, f->series, err))
        return -1;
    if (!any || run == SIZE_MAX || code == f->codes[f->newest])
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

// Goes back over the plain runs that had the newest code, without a gap, and returns the oldest
// one's commit. Only used if `line_run` is set.
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
        if (code && code != f->codes[f->newest])
            break;
        *out = code && at ? at : *out;
    }
    return 0;
}

// ---- all ----

// Takes links in the order of their commits, up to the first link whose commit has no place yet
// because another process stored that commit after the places were read. The next run takes that
// link and all after it.
static void take_facts(struct facts *f, const struct link_fact *links, size_t count)
{
    bool sorted = true;
    f->items = arena_alloc(f->arena, (count + 1) * sizeof(*f->items));
    for (size_t i = 0; i < count; i++) {
        const struct fact one = {.link = &links[i],
                                 .base = commit_place_find(f->places, links[i].base),
                                 .head = commit_place_find(f->places, links[i].head)};
        if (!one.base || !one.head)
            break;
        f->items[f->count++] = one;
        f->newest_link = links[i].key;
        sorted = sorted && (f->count == 1 || in_order(&f->items[f->count - 2], &one) < 0);
    }
    if (!sorted)
        qsort(f->items, f->count, sizeof(*f->items), in_order);
}

// Reads the links into the arena. `places` (store_commit_places) and the series must not move.
static int link_facts_read(struct facts *f, struct error *err)
{
    struct link_fact *links;
    size_t count;
    if (store_link_facts(&links, &count, f->store, f->series, 0, f->arena, err))
        return -1;
    take_facts(f, links, count);
    number_codes(f);
    return find_newest(f, err);
}

// ---- changes and misfits ----

// Finds changes and misfits. A change is a link with the code before that the gate's rule called
// slower or faster. Its size is the difference of the two levels, so that marks count, too; its
// interval includes the misclosure of the loops.

static struct history_commit link_commit(const struct commit_place *commit)
{
    struct history_commit at = {.time_s = commit->time_s};
    memcpy(at.id, commit->id, sizeof(at.id));
    return at;
}

// The size of a single link, with an error that includes how well such links close.
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

// Whether the same two codes were compared again with a decision, which then counts. Links are
// sorted by their heads, so the other one is near.
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

// Whether a link of neighbours with a decision lies between the commits of another link.
static bool is_within(const struct fact *one, const struct fact *wide)
{
    const int64_t later = one->base->order_s - wide->base->order_s;
    const int64_t earlier = wide->head->order_s - one->head->order_s;
    return one->link->back == 1 && one->link->kind != VERDICT_UNDECIDED && later >= 0 &&
           earlier >= 0 && (later || earlier);
}

// Finds the link of this code with the one before it, among the links within `wide`; NULL: there is
// none. Links are sorted by their heads.
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

// Whether a link is filled. Its codes were neighbours as long as nobody had measured the commits
// between them. Links within it now lead from one code to the other, and show which commit made the
// change. The same happens where commits were rewritten and the codes stayed.
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

// A change, with what the rest of the history needs of its link.
struct judged {
    struct linked_change change;
    size_t place; // the index of its link
    bool slower;  // by the gate's rule
};

static void judge(struct linked_change *c, const struct facts *f, const struct levels *levels,
                  size_t i, double reach)
{
    const struct fact *one = &f->items[i];
    double size, error;
    if (!levels) {
        const struct interval wide = alone(one->link, LINKS_SURE);
        c->size = alone(one->link, CONFIDENCE);
        c->sure = wide.low > 0 || wide.high < 0;
        return;
    }
    c->misfit = levels->fit[i] != LINK_FITS;
    levels_between(&size, &error, levels, one->from, one->to);
    c->size = interval_about(size, reach * error);
    c->sure = levels_link_chance(levels, i, size / error) < 1 - LINKS_SURE;
    if (levels->mark[one->from] == levels->mark[f->newest])
        c->left = levels->level[f->newest] - levels->level[one->from];
}

static size_t times_of(const struct facts *f, const struct fact *like)
{
    size_t times = 0;
    for (size_t k = 0; k < f->count; k++)
        times += f->items[k].from == like->from && f->items[k].to == like->to;
    return times;
}

struct levelling {
    struct facts f;
    struct levels *levels; // NULL: they are too tangled, and each link counts alone
    struct judged *changes;
    struct linked_history *out;
    const char *accepted;
};

// Adds the links that are called slower or faster.
static void take_changes(struct levelling *look, struct arena *arena)
{
    const struct facts *f = &look->f;
    struct linked_history *out = look->out;
    const double reach = look->levels ? levels_reach(look->levels, CONFIDENCE) : 0;
    look->changes = arena_alloc(f->arena, (f->count + 1) * sizeof(*look->changes));
    for (size_t i = 0; i < f->count; i++) {
        const struct fact *one = &f->items[i];
        const struct link_fact *l = one->link;
        if (l->back != 1 || (l->kind != VERDICT_SLOWER && l->kind != VERDICT_FASTER) ||
            measured_again(f, i))
            continue;
        struct judged *j = &look->changes[out->change_count++];
        *j = (struct judged){.place = i, .slower = l->kind == VERDICT_SLOWER};
        j->change = (struct linked_change){.at = link_commit(one->head),
                                           .base = link_commit(one->base),
                                           .evidence = l->log_evidence,
                                           .link = l->key,
                                           .back = f->left_s[one->to] < one->head->order_s,
                                           .filled = is_filled(f, i),
                                           .left = NAN};
        judge(&j->change, f, look->levels, i, reach);
    }
    out->changes = arena_alloc(arena, (out->change_count + 1) * sizeof(*out->changes));
    for (size_t i = 0; i < out->change_count; i++)
        out->changes[i] = look->changes[i].change;
}

// Adds misfits, except those that were measured again.
static void take_misfits(struct levelling *look, struct arena *arena)
{
    const struct facts *f = &look->f;
    struct linked_history *out = look->out;
    for (size_t i = 0; i < f->count; i++)
        out->misfit_count += look->levels->fit[i] != LINK_FITS;
    out->misfits = arena_alloc(arena, (out->misfit_count + 1) * sizeof(*out->misfits));
    out->misfit_count = 0;
    for (size_t i = 0; i < f->count; i++) {
        const struct fact *one = &f->items[i];
        if (look->levels->fit[i] != LINK_FITS && times_of(f, one) == 1)
            out->misfits[out->misfit_count++] = (struct linked_misfit){
                link_commit(one->head), link_commit(one->base), one->link->back};
    }
}

// ---- levels ----

static void take_levels(struct linked_levels *out, const struct levelling *look)
{
    const struct facts *f = &look->f;
    const struct levels *levels = look->levels;
    const double reach = levels_reach(levels, CONFIDENCE);
    double *errors = arena_alloc(f->arena, levels->codes * sizeof(*errors));
    levels_errors(errors, levels);
    out->level_count = levels->codes;
    out->levels = arena_alloc(f->arena, levels->codes * sizeof(*out->levels));
    for (size_t i = 0; i < levels->codes; i++)
        out->levels[i] =
            (struct linked_level){.at = link_met_at(f, i),
                                  .level = interval_about(levels->level[i], reach * errors[i]),
                                  .mark = levels->mark[i],
                                  .tried = true};
    for (size_t i = 0; i < f->count; i++) {
        if (f->items[i].link->back == 0)
            continue;
        out->levels[f->items[i].from].tried = false;
        out->levels[f->items[i].to].tried = false;
    }
}

static void add_step(struct linked_levels *out, const struct commit_place *at, size_t level)
{
    out->steps[out->step_count++] = (struct linked_step){at, level};
}

// Makes steps. Each link with the code before shows the commit at which a code came. The first code
// has none before it; a code that came back without a link has the first run that measured it.
static int take_steps(struct linked_levels *out, const struct facts *f, struct error *err)
{
    size_t code = SIZE_MAX;
    const struct commit_place *since;
    out->steps = arena_alloc(f->arena, (f->count + 2) * sizeof(*out->steps));
    for (size_t i = 0; i < f->count; i++) {
        const struct fact *one = &f->items[i];
        if (one->link->back != 1)
            continue;
        if (code == SIZE_MAX)
            add_step(out, one->base, code = one->from);
        if (code != one->to)
            add_step(out, one->head, code = one->to);
    }
    if (f->line_run == SIZE_MAX || out->step_count == 0)
        return 0;
    if (link_newest_since(&since, f, err))
        return -1;
    add_step(out, since, f->newest);
    return 0;
}

// ---- whether the level moved ----

static const double moved_margin = 0.003;

// Finds the number of the code that came with the accepted commit, and the first link from which on
// changes are not accepted. False: no link names that commit.
static bool find_accepted(size_t *code, size_t *first, const struct levelling *look)
{
    const size_t length = strlen(look->accepted);
    for (size_t i = 0; length && i < look->f.count; i++) {
        const struct fact *one = &look->f.items[i];
        const bool head = strncmp(one->head->id, look->accepted, length) == 0;
        if (!head && strncmp(one->base->id, look->accepted, length) != 0)
            continue;
        *code = head ? one->to : one->from;
        *first = i + head;
        return true;
    }
    return false;
}

// Whether there was a change in the series' present direction, from that link on.
static bool changed_since(const struct levelling *look, size_t first, double size)
{
    bool changed = false;
    for (size_t i = 0; i < look->out->change_count; i++) {
        const struct judged *j = &look->changes[i];
        changed |=
            j->place >= first && j->slower == (size > 0) && !j->change.misfit && !j->change.filled;
    }
    return changed;
}

// Whether a level has crept. The gate judges changes. Nothing has judged a creep, because each of
// its steps may be too small to be a change.
static bool has_moved(const struct levelling *look, size_t first, double size, double error)
{
    const bool changed = changed_since(look, first, size);
    const double reach = levels_reach(look->levels, changed ? CONFIDENCE : LINKS_SURE);
    return fabs(size) > moved_margin && fabs(size) > reach * error;
}

static void take_moved(struct levelling *look)
{
    struct linked_history *out = look->out;
    const size_t newest = look->f.newest;
    size_t code = look->levels->mark[newest], first = 0;
    double size, error;
    if (look->accepted && !find_accepted(&code, &first, look))
        return;
    levels_between(&size, &error, look->levels, code, newest);
    if (!isfinite(error))
        return;
    if (look->accepted)
        out->accepted = interval_about(size, levels_reach(look->levels, CONFIDENCE) * error);
    out->moved = has_moved(look, first, size, error);
}

// ---- all ----

// Computes the closed levels. NULL: the links are too tangled. The caller calls levels_free().
static struct levels *links_level(const struct facts *f, struct error *err)
{
    struct levels *levels = levels_new();
    for (size_t i = 0; i < f->count; i++) {
        const struct fact *one = &f->items[i];
        levels_add(levels, &(struct level_link){one->from, one->to, one->link->log_ratio,
                                                one->link->error});
    }
    if (levels_close(levels, &levels_prior, err) == 0)
        return levels;
    levels_free(levels);
    return NULL;
}

static int conclude(struct levelling *look, struct linked_levels *levels, struct arena *arena,
                    struct error *err)
{
    struct linked_history *out = look->out;
    const struct facts *f = &look->f;
    out->links = f->count;
    out->newest_link = f->newest_link;
    for (size_t i = 0; i < f->count; i++)
        out->neighbours += f->items[i].link->back == 1;
    take_changes(look, arena);
    if (!look->levels)
        return 0;
    out->loops = look->levels->loops;
    out->misclosure = look->levels->misclosure;
    take_levels(levels, look);
    take_misfits(look, arena);
    out->newest = f->newest;
    out->now = levels->levels[f->newest].level;
    out->since = link_commit(link_met_at(f, look->levels->mark[f->newest]));
    take_moved(look);
    if (take_steps(levels, f, err))
        return -1;
    levels->total = levels->step_count;
    out->level_count = levels->level_count;
    return 0;
}

int history_links(struct linked_history *out, struct linked_levels *levels, struct store *store,
                  const struct commit_places *places, const struct series *series,
                  const char *accepted, struct arena *arena, struct arena *scratch,
                  struct error *err)
{
    struct levelling look = {
        .f = {.store = store, .places = places, .series = series, .arena = scratch},
        .out = out,
        .accepted = accepted};
    struct error why;
    *out = (struct linked_history){.accepted = interval_none, .now = interval_none};
    *levels = (struct linked_levels){0};
    if (link_facts_read(&look.f, err))
        return -1;
    if (look.f.count == 0)
        return 0;
    look.levels = links_level(&look.f, &why);
    if (!look.levels)
        out->trouble = arena_strdup(arena, why.text);
    const int status = conclude(&look, levels, arena, err);
    levels_free(look.levels);
    return status;
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

// ---- keeping the result ----

// Raised when the same links would give another result.
enum { LINKS_KEPT_VERSION = 19 };

// Makes a text that identifies what the kept result depends on. It also depends on the newest code,
// which may have come without a link.
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

int history_links_kept(struct kept_links *out, struct linked_levels *levels, bool *fresh,
                       struct store *store, const struct commit_places *places,
                       const struct series *series, const char *accepted, struct arena *arena,
                       struct arena *scratch, struct error *err)
{
    struct kept_links kept;
    char maker[KEPT_LINKS_MAKER];
    int64_t newest;
    *out = (struct kept_links){.history = {.accepted = interval_none, .now = interval_none}};
    *levels = (struct linked_levels){0};
    *fresh = false;
    int status = store_newest_link(&newest, store, series, err);
    if (status || newest == 0)
        return status;
    if (maker_of(maker, store, places, series, accepted, err) ||
        store_load_kept_links(&kept, store, series, arena, err))
        return -1;
    if (strcmp(kept.maker, maker) == 0 && kept.history.newest_link == newest) {
        *out = kept;
        return 0;
    }
    memcpy(out->maker, maker, sizeof(maker));
    *fresh = true;
    return history_links(&out->history, levels, store, places, series, accepted, arena, scratch,
                         err);
}
