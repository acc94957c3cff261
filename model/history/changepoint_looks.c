// SPDX-License-Identifier: Apache-2.0
//
// What was surely seen stays: a series is looked at when it had 60 values and each time it has
// grown by a fifth, and a change that one of these looks was sure of is kept where the newest does
// not see it, whose noise, memory or walk is fitted to more. So it goes only when it was found
// between two looks and is gone by the next. Sure is 20 nats; of fewer than 100 values, which
// cannot show how long they remember, 40. More looks, and less to be sure of, would keep more and
// make more than one false change in 10,000 values of noise that remembers or becomes louder.
// Series of more than 1,500 values are looked at once.
//
// What was reported, sure or not, stays as long as the values next to it do not speak against it:
// of what tells as much as ten independent values on either side (fewer where a neighbour or an end
// is nearer), nine in ten lie on their own side of the middle between its levels. Where the level
// wanders, these are the ten nearest.
#include "model/base.h"
#include "model/history/changepoint_look.h"

#include <math.h>
#include <stdlib.h>

enum { FIRST_LOOK = 60, LAST_LOOK = 1500, MANY = 100, APART = 5, BESIDE = 10 };
static const double look_growth = 1.2, sure = 20, sure_of_few = 40, most = 0.9;

static bool listed(const struct changepoints *c, const struct change *change)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct change *other = &c->changes[i];
        if (other->earliest <= change->latest + APART && change->earliest <= other->latest + APART)
            return true;
    }
    return false;
}

static void insert(struct changepoints *now, const struct change *old)
{
    now->changes = xrealloc(now->changes, now->count + 1, sizeof(*now->changes));
    size_t at = now->count++;
    for (; at > 0 && now->changes[at - 1].index > old->index; at--)
        now->changes[at] = now->changes[at - 1];
    now->changes[at] = *old;
}

// Puts what an earlier look at `n` values was sure of where it belongs, if the newest does not have
// it.
static void keep(struct changepoints *now, const struct change *earlier, size_t count, size_t n)
{
    for (size_t i = 0; i < count; i++) {
        const struct change *old = &earlier[i];
        if (old->evidence >= (n < MANY ? sure_of_few : sure) && !listed(now, old))
            insert(now, old);
    }
}

// Share of the values first..end-1 that lie above the middle between its levels, or below it.
static double share(const double *values, size_t first, size_t end, const struct change *c,
                    bool above)
{
    const double middle = 0.5 * (c->before + c->after);
    size_t count = 0, there = 0;
    for (size_t i = first; i < end; i++) {
        count += isfinite(values[i]);
        there += above ? values[i] > middle : values[i] < middle;
    }
    return count ? (double)there / (double)count : 0;
}

static bool stands(const struct change *old, const struct changepoints *now, const double *values,
                   size_t n)
{
    const bool up = old->after > old->before;
    const size_t reach = (size_t)(BESIDE * (now->drift ? 1 : now->inflation));
    size_t first = old->index > reach ? old->index - reach : 0;
    size_t end = old->index + reach < n ? old->index + reach : n;
    for (size_t i = 0; i < now->count; i++) {
        const size_t other = now->changes[i].index;
        if (other <= old->earliest && other > first)
            first = other;
        if (other > old->latest && other < end)
            end = other;
    }
    return share(values, first, old->index, old, !up) >= most &&
           share(values, old->index, end, old, up) >= most;
}

void changepoints_find(struct changepoints *out, const double *values, size_t n,
                       const struct changepoint_options *options)
{
    const struct changepoint_options *o = options ? options : &changepoint_defaults;
    struct changepoints kept = {0}, next;
    size_t before = 0;
    for (double length = FIRST_LOOK; n <= LAST_LOOK && length < (double)n; length *= look_growth) {
        changepoints_look(&next, values, (size_t)length, o);
        keep(&next, kept.changes, kept.count, before);
        changepoints_free(&kept);
        kept = next;
        before = (size_t)length;
    }
    changepoints_look(out, values, n, o);
    keep(out, kept.changes, kept.count, before);
    changepoints_free(&kept);
}

void changepoints_again(struct changepoints *out, const double *values, size_t n,
                        const struct change *earlier, size_t count)
{
    changepoints_look(out, values, n, &changepoint_defaults);
    keep(out, earlier, count, n);
    for (size_t i = 0; i < count; i++) {
        if (!listed(out, &earlier[i]) && stands(&earlier[i], out, values, n))
            insert(out, &earlier[i]);
    }
}
