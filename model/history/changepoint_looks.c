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
// What was reported, sure or not, stays as long as the values next to it bear it out: their mean
// moves by 4.5 standard errors the way that was reported, of all values up to the neighbouring
// changes, memory allowed for, or of the ten nearest on either side, which a level that wanders
// has not left yet. Noise is what these values show, each side its own where that is more: what a
// louder stretch had begun with goes when the stretch is seen.
#include "model/base.h"
#include "model/history/changepoint_look.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_LOOK = 60, LAST_LOOK = 1500, MANY = 100, APART = 5, BESIDE = 10, LEAST_SIDE = 2 };
static const double look_growth = 1.2, sure = 20, sure_of_few = 40, least_errors = 4.5;

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

// Which values lie beside a change: up to the nearest of others, or to an end.
struct stretch {
    size_t first, end;
};

static void narrow(struct stretch *beside, const struct change *c, const struct changepoints *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const size_t other = list->changes[i].index;
        if (other < c->index && other > beside->first)
            beside->first = other;
        if (other > c->index && other < beside->end)
            beside->end = other;
    }
}

struct side {
    double mean, squares, count;
};

static struct side side_of(const double *values, size_t first, size_t end)
{
    struct side s = {0, 0, 0};
    for (size_t i = first; i < end; i++) {
        if (!isfinite(values[i]))
            continue;
        const double gap = values[i] - s.mean;
        s.mean += gap / ++s.count;
        s.squares += gap * (values[i] - s.mean);
    }
    return s;
}

// By how many standard errors the level is moved in the direction that was reported, of at most
// `reach` values on either side; too few say nothing against it.
static double errors_within(const double *values, struct stretch beside, const struct change *c,
                            size_t reach, double inflation)
{
    const size_t first = c->index - beside.first > reach ? c->index - reach : beside.first;
    const size_t end = beside.end - c->index > reach ? c->index + reach : beside.end;
    const struct side a = side_of(values, first, c->index), b = side_of(values, c->index, end);
    if (a.count < LEAST_SIDE || b.count < LEAST_SIDE)
        return INFINITY;
    const double gap = c->after > c->before ? b.mean - a.mean : a.mean - b.mean;
    const double own = a.squares / (a.count - 1) / a.count + b.squares / (b.count - 1) / b.count;
    const double pooled =
        (a.squares + b.squares) / (a.count + b.count - 2) * (1 / a.count + 1 / b.count);
    const double error = sqrt(fmax(own, pooled) * inflation);
    return error > 0 ? gap / error : gap > 0 ? INFINITY : -INFINITY;
}

static double errors_of(const struct change *c, const struct changepoints *now,
                        const struct changepoints *kept, const double *values, size_t n)
{
    struct stretch beside = {0, n};
    narrow(&beside, c, now);
    narrow(&beside, c, kept);
    return fmax(errors_within(values, beside, c, n, now->inflation),
                errors_within(values, beside, c, BESIDE, 1));
}

// Drops what is borne out least until the rest is borne out.
static void drop_refuted(struct changepoints *kept, const struct changepoints *now,
                         const double *values, size_t n)
{
    while (kept->count > 0) {
        size_t weakest = 0;
        double least = INFINITY;
        for (size_t i = 0; i < kept->count; i++) {
            const double errors = errors_of(&kept->changes[i], now, kept, values, n);
            if (errors < least)
                least = errors, weakest = i;
        }
        if (least >= least_errors)
            return;
        memmove(kept->changes + weakest, kept->changes + weakest + 1,
                (--kept->count - weakest) * sizeof(*kept->changes));
    }
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
    struct changepoints kept = {0};
    for (size_t i = 0; i < count; i++) {
        if (!listed(out, &earlier[i]))
            insert(&kept, &earlier[i]);
    }
    drop_refuted(&kept, out, values, n);
    for (size_t i = 0; i < kept.count; i++)
        insert(out, &kept.changes[i]);
    changepoints_free(&kept);
}
