// SPDX-License-Identifier: Apache-2.0
//
// Changes and misfits of links. A change is a link with the code before that the gate's rule called
// slower or faster; its size is the difference of the two levels, so that marks count too, and its
// interval knows what the loops of links do not add up to.
#include "ci/history/links_judged.h"

#include <math.h>
#include <string.h>

struct history_commit link_commit(const struct commit_place *commit)
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
        c->size = alone(one->link, LINKS_CONFIDENCE);
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

void links_take_changes(struct settled_change *out, size_t *count, bool *lacking,
                        const struct facts *f, const struct levels *levels, size_t end)
{
    const double reach = levels ? levels_reach(levels, LINKS_CONFIDENCE) : 0;
    for (size_t i = f->first; i < end; i++) {
        const struct link_fact *l = f->items[i].link;
        if (l->back != 1 || (l->kind != VERDICT_SLOWER && l->kind != VERDICT_FASTER) ||
            measured_again(f, i))
            continue;
        *lacking |= !is_spanned(f, i);
        if (is_filled(f, i))
            continue;
        struct settled_change *s = &out[(*count)++];
        *s = (struct settled_change){.place = f->settled.links + (i - f->first),
                                     .slower = l->kind == VERDICT_SLOWER,
                                     .from = f->items[i].from};
        s->change = (struct linked_change){.at = link_commit(f->items[i].head),
                                           .base = link_commit(f->items[i].base),
                                           .evidence = l->log_evidence,
                                           .link = l->key,
                                           .back = goes_back(f, i),
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

void links_take_misfits(struct settled_misfit *out, size_t *count, const struct facts *f,
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
void links_take_steps(struct linked_part *out, const struct facts *f, bool any, size_t code,
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
