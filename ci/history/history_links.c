// SPDX-License-Identifier: Apache-2.0
//
// A series levelled from the links in the store. A change is a link with the code before that the
// gate's rule called slower or faster; its size is the difference of the two levels, so that marks
// count too, and its interval knows what the loops of links do not add up to.
#include "ci/history/history_links.h"

#include "ci/history/link_facts.h"
#include "model/history/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE 0.95

// Links see what no gate would call a change, and codes that only crept are looked at again and
// again, in every series: one in 10,000 is called moved that is not. A gate's evidence does not
// know what pairs cannot see: where that is 0.1 %, 5 of 1,000 codes that are equal are called
// slower or faster by more than 0.3 %. For those to be few among the changes, the same holds.
static const double moved_margin = 0.003;
#define SURE_CONFIDENCE 0.9999

// ---- what they say ----

static struct history_commit place(const struct commit_place *commit)
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
static const struct fact *link_within(const struct facts *f, size_t wide, size_t code)
{
    const struct fact *w = &f->items[wide];
    size_t end = wide + 1;
    while (end < f->count && f->items[end].head == w->head)
        end++;
    for (size_t i = end; i-- > 0 && f->items[i].head->order_s >= w->base->order_s;) {
        if (f->items[i].to == code && is_within(&f->items[i], w))
            return &f->items[i];
    }
    return NULL;
}

// Its codes were neighbours while nobody had measured the commits between them. Since then links
// within lead from one to the other, and they say which commit it was; so they do where the commits
// were written anew and the codes stayed.
static bool is_filled(const struct facts *f, size_t wide)
{
    const struct fact *w = &f->items[wide], *one = w;
    size_t code = w->to;
    for (size_t steps = 0; one && code != w->from && steps <= f->code_count; steps++) {
        one = link_within(f, wide, code);
        code = one ? one->from : code;
    }
    return code == w->from;
}

// The code that came with this link was the series' before.
static bool goes_back(const struct facts *f, size_t i)
{
    bool back = false;
    for (size_t k = 0; k < i; k++)
        back |= f->items[k].link->back == 1 && f->items[k].from == f->items[i].to &&
                f->items[k].head->order_s < f->items[i].head->order_s;
    return back;
}

static void take_changes(struct linked_history *out, const struct levels *levels,
                         const struct facts *f, struct arena *arena)
{
    const double reach = out->trouble ? 0 : levels_reach(levels, CONFIDENCE);
    struct linked_change *all = arena_alloc(f->arena, f->count * sizeof(*all));
    for (size_t i = 0; i < f->count; i++) {
        const struct link_fact *l = f->items[i].link;
        double size, error;
        if (l->back != 1 || (l->kind != VERDICT_SLOWER && l->kind != VERDICT_FASTER) ||
            measured_again(f, i) || is_filled(f, i))
            continue;
        struct linked_change *c = &all[out->change_count++];
        *c = (struct linked_change){.at = place(f->items[i].head),
                                    .base = place(f->items[i].base),
                                    .evidence = l->log_evidence,
                                    .link = l->key,
                                    .back = goes_back(f, i),
                                    .misfit = !out->trouble && levels->fit[i] != LINK_FITS,
                                    .left = NAN};
        if (out->trouble) {
            const struct interval wide = alone(l, SURE_CONFIDENCE);
            c->size = alone(l, CONFIDENCE);
            c->sure = wide.low > 0 || wide.high < 0;
            continue;
        }
        levels_between(&size, &error, levels, f->items[i].from, f->items[i].to);
        c->size = interval_about(size, reach * error);
        c->sure = levels_link_chance(levels, i, size / error) < 1 - SURE_CONFIDENCE;
        const size_t from = f->items[i].from;
        if (levels->mark[from] == levels->mark[f->newest])
            c->left = levels->level[f->newest] - levels->level[from];
    }
    out->changes = arena_copy(arena, all, out->change_count * sizeof(*all));
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
        all->levels[f->items[i].to].tried = all->levels[f->items[i].from].tried = false;
    }
    out->newest = f->newest;
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
// before, and one that came back without a link has the first run that saw it.
static int take_steps(struct linked_levels *out, const struct facts *f, struct error *err)
{
    out->steps = arena_alloc(f->arena, (f->count + 2) * sizeof(*out->steps));
    for (size_t i = 0; i < f->count; i++) {
        const struct fact *one = &f->items[i];
        if (one->link->back != 1)
            continue;
        if (out->step_count == 0)
            out->steps[out->step_count++] = (struct linked_step){one->base, one->from};
        if (out->steps[out->step_count - 1].level != one->to)
            out->steps[out->step_count++] = (struct linked_step){one->head, one->to};
    }
    if (f->line_run == SIZE_MAX || out->step_count == 0)
        return 0;
    out->steps[out->step_count].level = f->newest;
    return link_newest_since(&out->steps[out->step_count++].at, f, err);
}

// A change towards where the series is now, from that link on.
static bool changed_since(const struct facts *f, const struct levels *levels, size_t first,
                          double size)
{
    bool changed = false;
    for (size_t i = first; i < f->count; i++) {
        const enum verdict_kind towards = size > 0 ? VERDICT_SLOWER : VERDICT_FASTER;
        changed |= f->items[i].link->back == 1 && f->items[i].link->kind == towards &&
                   levels->fit[i] == LINK_FITS && !measured_again(f, i) && !is_filled(f, i);
    }
    return changed;
}

// What changed was judged by the gate; what crept, however many steps it took, was by nobody, for
// each of them may be too small to be one.
static bool has_moved(const struct facts *f, const struct levels *levels, size_t first, double size,
                      double error)
{
    const bool changed = changed_since(f, levels, first, size);
    const double reach = levels_reach(levels, changed ? CONFIDENCE : SURE_CONFIDENCE);
    return fabs(size) > moved_margin && fabs(size) > reach * error;
}

static void take_moved(struct linked_history *out, const struct levels *levels,
                       const struct facts *f, const char *accepted)
{
    size_t code = accepted ? SIZE_MAX : levels->mark[out->newest], first = 0;
    double size, error;
    for (; accepted && first < f->count && code == SIZE_MAX; first++) {
        const struct fact *one = &f->items[first];
        if (strncmp(one->head->id, accepted, strlen(accepted)) == 0) {
            code = one->to;
        } else if (strncmp(one->base->id, accepted, strlen(accepted)) == 0) {
            code = one->from;
            break; // this link is after it
        }
    }
    if (code == SIZE_MAX)
        return;
    levels_between(&size, &error, levels, code, out->newest);
    if (!isfinite(error))
        return;
    if (accepted)
        out->accepted = interval_about(size, levels_reach(levels, CONFIDENCE) * error);
    out->moved = has_moved(f, levels, first, size, error);
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
    if (link_facts_read(&f, store, places, series, scratch, err))
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
    take_changes(&found, levels, &f, arena);
    if (!found.trouble) {
        found.loops = levels->loops;
        found.misclosure = levels->misclosure;
        take_levels(all, levels, &f);
        take_misfits(&found, levels, &f, arena);
        take_line(&found, all, &f);
        take_moved(&found, levels, &f, accepted);
        status = take_steps(all, &f, err);
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
