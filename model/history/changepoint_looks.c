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
// moves by 4 standard errors the way that was reported, of all values up to the neighbouring
// changes, memory allowed for, or of the ten nearest on either side, which a level that wanders
// has not left yet. Noise is what these values show, each side its own where that is more: what a
// louder stretch had begun with goes when the stretch is seen.
#include "model/base.h"
#include "model/history/change_set.h"
#include "model/history/changepoint_look.h"
#include "model/history/local_level.h"
#include "model/history/memory.h"
#include "model/history/pattern.h"
#include "model/history/shape.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_LOOK = 60,
    LAST_LOOK = 1500,
    MANY = 100,
    APART = 5,
    BESIDE = 10,
    LEAST_SIDE = 2,
    PRIOR_VALUES = 4
};
enum { DIRECTLY = 12, LEAST_PAST = 5 };
static const double newest_nats = 5.75, by_chance = 1.5, visit_chance = 7.5e-4, most_nats = 1;
static const double look_growth = 1.2, sure = 20, sure_of_few = 40, least_errors = 4;

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

// The values beside a change: up to the next change on either side, or to an end of the series.
struct values_beside {
    size_t first, end;
};

static void narrow(struct values_beside *beside, const struct change *c,
                   const struct changepoints *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const size_t other = list->changes[i].index;
        if (other < c->index && other > beside->first)
            beside->first = other;
        if (other > c->index && other < beside->end)
            beside->end = other;
    }
}

struct change_side {
    double mean, squares, count;
};

static struct change_side side_of(const double *values, size_t first, size_t end)
{
    struct change_side s = {0, 0, 0};
    for (size_t i = first; i < end; i++) {
        if (!isfinite(values[i]))
            continue;
        const double gap = values[i] - s.mean;
        s.mean += gap / ++s.count;
        s.squares += gap * (values[i] - s.mean);
    }
    return s;
}

// A side's own scatter, which few values say little of.
static double own_variance(struct change_side s, double scatter)
{
    return (s.squares + PRIOR_VALUES * scatter) / (s.count - 1 + PRIOR_VALUES);
}

// By how many standard errors the level is moved in the direction that was reported, of at most
// `reach` values on either side; too few say nothing against it.
static double errors_within(const double *values, struct values_beside beside,
                            const struct change *c, size_t reach, double inflation)
{
    const size_t first = c->index - beside.first > reach ? c->index - reach : beside.first;
    const size_t end = beside.end - c->index > reach ? c->index + reach : beside.end;
    const struct change_side a = side_of(values, first, c->index),
                             b = side_of(values, c->index, end);
    if (a.count < LEAST_SIDE || b.count < LEAST_SIDE)
        return INFINITY;
    const double gap = c->after > c->before ? b.mean - a.mean : a.mean - b.mean;
    const double scatter = (a.squares + b.squares) / (a.count + b.count - 2);
    const double pooled = scatter * (1 / a.count + 1 / b.count);
    const double own = own_variance(a, scatter) / a.count + own_variance(b, scatter) / b.count;
    const double error = sqrt(fmax(own, pooled) * inflation);
    return error > 0 ? gap / error : gap > 0 ? INFINITY : -INFINITY;
}

static double errors_of(const struct change *c, const struct changepoints *now,
                        const struct changepoints *kept, const double *values, size_t n)
{
    struct values_beside beside = {0, n};
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

// ---- what came since the last change ----
//
// One step among the values since the last change, which a segmentation of so few does not see: a
// likelihood ratio with memory, of values that neither stray there nor walk. However few or many
// stand on either side of it, the rule is the same.

// The finite values since the last change, from the first of them and by the furthest from it, so
// that their unit cannot exceed what numbers hold; with the sums of the first i of them and of
// their squares.
struct latest {
    double *y, *sum, *square, centre, scale;
    size_t *where, n;
};

static struct latest latest_of(const double *values, size_t n, const struct changepoints *found)
{
    const size_t first = found->count ? found->changes[found->count - 1].index : 0;
    const size_t room = n - first + 1;
    double *memory = xcalloc(3 * room, sizeof(*memory));
    struct latest l = {.y = memory,
                       .sum = memory + room,
                       .square = memory + 2 * room,
                       .where = xcalloc(room, sizeof(*l.where))};
    for (size_t i = first; i < n; i++) {
        if (!isfinite(values[i]))
            continue;
        l.centre = l.n ? l.centre : values[i];
        l.y[l.n] = values[i] - l.centre;
        l.scale = fmax(l.scale, fabs(l.y[l.n]));
        l.where[l.n++] = i;
    }
    for (size_t i = 0; i < l.n; i++) {
        l.y[i] /= l.scale > 0 ? l.scale : 1;
        l.sum[i + 1] = l.sum[i] + l.y[i];
        l.square[i + 1] = l.square[i] + l.y[i] * l.y[i];
    }
    return l;
}

static struct change_side side_between(const struct latest *l, size_t first, size_t end)
{
    const double count = (double)(end - first), sum = l->sum[end] - l->sum[first];
    return (struct change_side){
        sum / count, fmax(0, l->square[end] - l->square[first] - sum * sum / count), count};
}

// A value's variance by the values directly before `at`, by their mean distance from their median,
// which a single stray moves little.
static double scatter_before(const struct latest *l, size_t at)
{
    const size_t count = at < DIRECTLY ? at : DIRECTLY;
    const double *y = l->y + at - count;
    double work[DIRECTLY], away = 0;
    memcpy(work, y, count * sizeof(*work));
    const double median = robust_median(work, count);
    for (size_t i = 0; i < count; i++)
        away += fabs(y[i] - median) / (double)count;
    return away * away * M_PI / 2; // of normal values
}

// By how much more one side scatters than all values do, beyond what chance makes of one noise.
// What scatters more has not moved: where the newest values, or those just before them, are louder
// than the past, they must stand out of that.
static double louder(const struct latest *l, size_t at, struct change_side a, struct change_side b)
{
    const double all = (a.squares + b.squares) / (double)l->n;
    const double scatter = fmax(all, scatter_before(l, at));
    const double own = own_variance(a, scatter) / a.count + own_variance(b, scatter) / b.count;
    const double most = fmax(scatter, own / (1 / a.count + 1 / b.count));
    return fmax(1, most / all / by_chance); // of equal values NaN, which is 1
}

// Nats for a step at `at` in noise without memory, to choose by.
static double nats(const struct latest *l, size_t at, struct change_side a, struct change_side b)
{
    const double n = (double)l->n, gap = b.mean - a.mean, count = a.count * b.count / n;
    const double error = (a.squares + b.squares) * louder(l, at, a, b);
    const double gain = error > 0 ? log1p(gap * gap * count / error) : gap != 0 ? INFINITY : 0;
    return ((n - 1) * gain - log(count)) / 2;
}

// Whether the values before stray to where the newest are as often as would explain them: then
// they are a visit.
static bool strays_there(const struct latest *l, size_t at, struct change_side a,
                         struct change_side b)
{
    const double middle = (a.mean + b.mean) / 2, up = b.mean > a.mean ? 1 : -1;
    double before = 0, after = 0;
    for (size_t i = 0; i < l->n; i++) {
        const bool there = up * (l->y[i] - middle) > 0;
        before += i < at && there;
        after += i < at ? 0 : there ? 1 : -1;
    }
    return after * log((a.count + 1) / (before + 0.5)) < log(1 / visit_chance);
}

// How much better a step explains the values than memory or a random walk in noise does.
static double nats_of_step(const struct latest *l, size_t at)
{
    const struct change_side a = side_between(l, 0, at), b = side_between(l, at, l->n);
    const double walk = local_level_fit(l->y, NULL, l->n).log_likelihood;
    return memory_step(l->y, l->n, at, louder(l, at, a, b)) -
           fmax(walk, memory_step(l->y, l->n, 0, 1));
}

// A step since the last change that nothing has reported.
static void add_newest(struct changepoints *now, const double *values, size_t n, double confidence)
{
    struct latest l = latest_of(values, n, now);
    double most = newest_nats;
    size_t best = 0;
    for (size_t at = l.n; at-- > LEAST_PAST;) {
        if (l.n - at < LEAST_SIDE)
            continue;
        const struct change_side a = side_between(&l, 0, at), b = side_between(&l, at, l.n);
        const double gain = nats(&l, at, a, b);
        if (gain > most && !strays_there(&l, at, a, b))
            most = gain, best = at;
    }
    const double sure_by = best > 0 ? nats_of_step(&l, best) : 0;
    if (sure_by > newest_nats) {
        const size_t index = l.where[best];
        const double before = l.centre + l.scale * side_between(&l, 0, best).mean;
        const double after = l.centre + l.scale * side_between(&l, best, l.n).mean;
        struct change step = {.index = index,
                              .earliest = index,
                              .latest = index,
                              .before = before,
                              .after = after,
                              .size = {after - before, after - before, after - before},
                              .evidence = fmin(sure_by, (double)l.n * most_nats)};
        change_set(&step, values, l.where[0], n, 1, confidence);
        insert(now, &step);
    }
    free(l.y);
    free(l.where);
}

// Behind a loud start a step may be clear that is nothing beside it: what came since the noise
// became calm is looked at alone, too. Returns where that begins, 0: nowhere.
static size_t add_calm(struct changepoints *now, const double *values, size_t n,
                       const struct changepoint_options *o)
{
    const size_t calm = shape_calm(values, n, now);
    struct changepoints later = {0};
    if (calm > 0)
        changepoints_look(&later, values + calm, n - calm, o);
    for (size_t i = 0; i < later.count; i++) {
        struct change c = later.changes[i];
        c.index += calm, c.earliest += calm, c.latest += calm;
        if (!listed(now, &c))
            insert(now, &c);
    }
    changepoints_free(&later);
    return calm;
}

// Adds what was reported and is not found, as far as the values bear it out.
static void add_reported(struct changepoints *out, const double *values, size_t n,
                         const struct change *earlier, size_t count)
{
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

// Looks as long as the series was shorter: what they were sure of.
static void look_back(struct changepoints *kept, size_t *at, const double *values, size_t n,
                      const struct changepoint_options *o)
{
    struct changepoints next;
    for (double length = FIRST_LOOK; n <= LAST_LOOK && length < (double)n; length *= look_growth) {
        changepoints_look(&next, values, (size_t)length, o);
        keep(&next, kept->changes, kept->count, *at);
        changepoints_free(kept);
        *kept = next;
        *at = (size_t)length;
    }
}

// What was found of the series when it had `n` values.
struct earlier {
    const struct change *changes;
    size_t count, n;
};

// Of `seen` stays what is sure enough, of `reported` what the values bear out.
static void find(struct changepoints *out, const double *values, size_t n,
                 const struct changepoint_options *o, struct earlier seen, struct earlier reported)
{
    changepoints_look(out, values, n, o);
    keep(out, seen.changes, seen.count, seen.n);
    add_reported(out, values, n, reported.changes, reported.count);
    const size_t calm = add_calm(out, values, n, o);
    add_newest(out, values, n, o->confidence);
    change_set_all(out, values, n, calm, o->confidence);
}

// What a pattern leaves of the values. The caller frees.
static double *without_pattern(struct pattern *pattern, const double *values, size_t n)
{
    double *rest = xcalloc(n + 1, sizeof(*rest));
    for (size_t i = 0; i < n; i++) // a series of none has no values to point at
        rest[i] = values[i];
    *pattern = pattern_take_off(rest, n);
    return rest;
}

static void find_all(struct changepoints *out, const double *values, size_t n,
                     const struct changepoint_options *o, struct earlier reported)
{
    struct changepoints sure_of = {0};
    struct pattern pattern;
    double *rest = without_pattern(&pattern, values, n);
    size_t before = 0;
    look_back(&sure_of, &before, rest, n, o);
    find(out, rest, n, o, (struct earlier){sure_of.changes, sure_of.count, before}, reported);
    out->pattern = pattern;
    changepoints_free(&sure_of);
    free(rest);
}

void changepoints_find(struct changepoints *out, const double *values, size_t n,
                       const struct changepoint_options *options)
{
    find_all(out, values, n, options ? options : &changepoint_defaults,
             (struct earlier){NULL, 0, 0});
}

void changepoints_more(struct changepoints *out, const double *values, size_t n,
                       const struct change *earlier, size_t count)
{
    find_all(out, values, n, &changepoint_defaults, (struct earlier){earlier, count, n});
}

void changepoints_again(struct changepoints *out, const double *values, size_t n,
                        const struct change *earlier, size_t count)
{
    const struct earlier told = {earlier, count, n};
    struct pattern pattern;
    double *rest = without_pattern(&pattern, values, n);
    find(out, rest, n, &changepoint_defaults, told, told);
    out->pattern = pattern;
    free(rest);
}
