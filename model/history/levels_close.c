// SPDX-License-Identifier: Apache-2.0
//
// How well the loops of links close, and what that says of the levels' errors.
//
// What pairs cannot see. Pairs of one process share the placement of code and data, so two codes
// differ by an amount t that more pairs do not take away, and that the standard error of the pairs
// does not know. It shows where links form a loop: their log ratios must add up to zero.
//
// Which loops. All: the residuals r of the least squares are what is left of the misclosures of
// every loop, and do not depend on which of them one would write down. There are as many
// independent ones as links less codes plus components. Components are levelled apart, but their
// loops count together: they are of one series and device, so t is one. A component without a loop
// has residuals of zero; it adds nothing to the estimate, and takes its t from the others.
//
// Which estimator. With weights w and leverages h_l = w_l var(x_b - x_a), errors e of variance
// s^2 + t^2 give
//     E sum w r^2 = sum w (s^2 + t^2) (1 - h),
// exactly, whatever the weights (the method of moments, as DerSimonian and Laird 1986 have it for
// means). So t^2 = (sum w r^2 - sum w s^2 (1 - h)) / sum w (1 - h), twice: with weights by the
// prior, then with weights by the first answer. It is moderated by the prior as by some loops more,
// and never below 0. A loop tells of t only as far as t makes it: where the pairs' own errors are
// larger, as on a busy host, it counts for share^2 of one, share being the part of E sum w r^2 that
// is t's (the variance of the estimate says so). Without any loop t is the prior. Intervals are
// Student's, with the loops so counted and the prior's weight as degrees of freedom: few widen
// them.
//
// A link that does not fit. Its residual over its own standard deviation, sqrt((1 - h) / w), is
// held against those of all others (externally studentised, so that neither a wrong link nor a
// wrong t hides it; Baarda 1968 had the idea for levelling nets), with a chance of 1 % over all
// links that any good one is taken for bad. It is set aside, one at a time. Links that are in the
// same loops and no others have the same score, whichever of them is wrong: then all of them are
// doubted and none is set aside. So one loop alone convicts nobody.
#include "model/history/level_factor.h"
#include "model/history/levels.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { UPDATES = 2, ASIDE_MOST = 16 };

static const double false_alarm = 0.01;
static const double tie = 0.999;    // of the worst score: as bad as the worst
static const double bridge = 1e-7;  // redundancy of a link in no loop, but for rounding
static const double own_errors = 3; // a residual within so many of its link's errors is none

const struct moderation levels_prior = {.sd = 0.001, .weight = 4};

// ---- the inverse, where the factor has room ----

struct column {
    const struct level_factor *f;
    double *inverse;
    size_t plain; // rows before the hubs
    size_t *last; // of each row: the last plain one that may have a value in its column
    size_t *rows; // those that have one in this column
    size_t count;
    double *l, *sum; // by row; l is 0 but for `rows`
};

// Row k's part in the columns from..to-1, which are below k: both halves of the symmetric inverse.
static void add_range(struct column *c, size_t k, size_t from, size_t to)
{
    const double weight = c->l[k];
    const size_t count = to > from ? to - from : 0;
    if (count == 0)
        return;
    const double *z = c->inverse + c->f->offset[k] + (from - c->f->begin[k]);
    double *restrict sum = c->sum + from;
    for (size_t j = 0; j < count; j++)
        sum[j] += weight * z[j];
    c->sum[k] += level_dot(c->l + from, z, count);
}

static void take_row(struct column *c, size_t k, size_t i)
{
    const struct level_factor *f = c->f;
    if (f->begin[k] > i)
        return;
    c->rows[c->count++] = k;
    c->l[k] = f->value[f->offset[k] + i - f->begin[k]];
}

static void invert_column(struct column *c, size_t i, size_t codes)
{
    const struct level_factor *f = c->f;
    const size_t near = i < c->plain ? c->last[i] + 1 : i + 1;
    const size_t hubs = c->plain > i ? c->plain : i + 1;
    c->count = 0;
    for (size_t k = i + 1; k < near; k++)
        take_row(c, k, i);
    for (size_t k = hubs; k < codes; k++)
        take_row(c, k, i);
    for (size_t n = 0; n < c->count; n++) {
        const size_t k = c->rows[n];
        add_range(c, k, i + 1, k < near ? k : near);
        if (k >= hubs)
            add_range(c, k, hubs, k);
        c->sum[k] += c->l[k] * c->inverse[f->offset[k] + k - f->begin[k]];
    }
    const double pivot = f->value[f->offset[i] + i - f->begin[i]]; // inverted
    double own = 0;
    for (size_t n = 0; n < c->count; n++) {
        const size_t k = c->rows[n];
        const double z = -c->sum[k] * pivot;
        c->inverse[f->offset[k] + i - f->begin[k]] = z;
        own += c->l[k] * z;
        c->l[k] = 0;
    }
    for (size_t j = i + 1; j < near; j++)
        c->sum[j] = 0;
    for (size_t j = hubs; j < codes; j++)
        c->sum[j] = 0;
    c->inverse[f->offset[i] + i - f->begin[i]] = (pivot - own) * pivot;
}

static double *inverse_of(const struct levels *levels)
{
    const struct level_factor *f = levels->factor;
    const size_t codes = levels->codes, plain = codes - f->hubs;
    struct column c = {.f = f,
                       .inverse = xcalloc(f->offset[codes] + 1, sizeof(double)),
                       .plain = plain,
                       .last = xcalloc(codes + 1, sizeof(size_t)),
                       .rows = xcalloc(codes + 1, sizeof(size_t)),
                       .l = xcalloc(codes + 1, sizeof(double)),
                       .sum = xcalloc(codes + 1, sizeof(double))};
    for (size_t k = 0; k < plain; k++)
        c.last[f->begin[k]] = k;
    for (size_t i = 0; i < plain; i++) {
        const size_t before = i ? c.last[i - 1] : 0;
        c.last[i] = c.last[i] > before ? c.last[i] : before;
    }
    for (size_t i = codes; i-- > 0;)
        invert_column(&c, i, codes);
    free(c.last);
    free(c.rows);
    free(c.l);
    free(c.sum);
    return c.inverse;
}

static double inverse_at(const struct levels *levels, const double *inverse, size_t a, size_t b)
{
    const struct level_factor *f = levels->factor;
    if (level_known(levels, a) || level_known(levels, b))
        return 0;
    const size_t p = f->at[a] > f->at[b] ? f->at[a] : f->at[b];
    const size_t q = f->at[a] > f->at[b] ? f->at[b] : f->at[a];
    return inverse[f->offset[p] + q - f->begin[p]];
}

static double link_variance(const struct levels *levels, const double *inverse,
                            const struct level_link *link)
{
    return inverse_at(levels, inverse, link->from, link->from) +
           inverse_at(levels, inverse, link->to, link->to) -
           2 * inverse_at(levels, inverse, link->from, link->to);
}

// ---- misclosure ----

struct closing {
    double square;       // sum w r^2
    double seen, unseen; // what of it s^2 explains, and per t^2
    size_t tested;       // links that are in a loop
    size_t worst;
    double score;
    double *scores; // of each link
};

static void look(struct closing *c, const struct levels *levels)
{
    double *inverse = inverse_of(levels);
    c->square = c->seen = c->unseen = c->score = 0;
    c->tested = c->worst = 0;
    for (size_t i = 0; i < levels->links; i++) {
        const struct level_link *link = &levels->factor->links[i];
        c->scores[i] = 0;
        if (levels->fit[i] == LINK_ASIDE)
            continue;
        const double w = level_weight(levels, i);
        const double r = link->log_ratio - (levels->level[link->to] - levels->level[link->from]);
        const double redundancy = 1 - w * link_variance(levels, inverse, link);
        if (!(redundancy > bridge))
            continue;
        c->square += w * r * r;
        c->seen += w * link->error * link->error * redundancy;
        c->unseen += w * redundancy;
        c->tested++;
        c->scores[i] = fabs(r) > own_errors * link->error ? fabs(r) * sqrt(w / redundancy) : 0;
        if (c->scores[i] > c->score) {
            c->score = c->scores[i];
            c->worst = i;
        }
    }
    free(inverse);
}

// Whether the worst link is beyond what chance gives the worst of so many good ones.
static bool misfit(const struct closing *c, size_t loops)
{
    if (loops < 2 || c->score == 0)
        return false;
    const double degrees = (double)loops - 1;
    const double others = fmax(c->square - c->score * c->score, 1e-12 * c->square) / degrees;
    const double t2 = c->score * c->score / others;
    const double p = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t2));
    return p * (double)c->tested < false_alarm;
}

// True: one link less is in the equations.
static bool set_aside(struct levels *levels, const struct closing *c)
{
    struct level_factor *f = levels->factor;
    const struct level_link *link = &f->links[c->worst];
    size_t tied = 0;
    if (!misfit(c, levels->loops))
        return false;
    for (size_t i = 0; i < levels->links; i++)
        tied += c->scores[i] >= tie * c->score;
    for (size_t i = 0; tied > 1 && i < levels->links; i++) {
        if (c->scores[i] >= tie * c->score)
            levels->fit[i] = LINK_DOUBTED;
    }
    if (tied > 1)
        return false;
    levels->fit[c->worst] = LINK_ASIDE;
    const size_t from = f->at[link->from], to = f->at[link->to], old = from < to ? from : to;
    f->dirty = old < f->dirty ? old : f->dirty;
    return true;
}

static void update(struct levels *levels, const struct closing *c, const struct moderation *prior)
{
    const double known = prior->sd * prior->sd;
    const double found = c->unseen > 0 ? (c->square - c->seen) / c->unseen : 0;
    const double unseen = c->unseen * fmax(known, found);
    const double share = unseen > 0 ? unseen / (c->seen + unseen) : 0;
    const double loops = (double)levels->loops * share * share;
    const double variance = (prior->weight * known + loops * found) / (prior->weight + loops);
    levels->misclosure = sqrt(fmax(variance, 0));
    levels->degrees = prior->weight + loops;
    levels->factor->dirty = 0;
}

int levels_close(struct levels *levels, const struct moderation *prior, struct error *err)
{
    struct closing c = {0};
    size_t updates = 0, aside = 0;
    int status = 0;
    assert(prior->sd > 0 && prior->weight > 0);
    for (size_t i = 0; i < levels->links; i++)
        levels->fit[i] = LINK_FITS;
    levels->misclosure = prior->sd;
    levels->degrees = prior->weight;
    levels->factor->dirty = 0;
    c.scores = xcalloc(levels->links + 1, sizeof(*c.scores));
    while ((status = levels_solve(levels, err)) == 0 && levels->codes && updates < UPDATES) {
        look(&c, levels);
        if (aside < ASIDE_MOST && set_aside(levels, &c)) {
            aside++;
            continue;
        }
        update(levels, &c, prior);
        updates++;
    }
    free(c.scores);
    return status;
}

// ---- errors ----

static double deviation(double variance)
{
    return sqrt(fmax(variance, 0));
}

void levels_errors(double *out, const struct levels *levels)
{
    if (levels->codes == 0)
        return;
    double *inverse = inverse_of(levels);
    for (size_t i = 0; i < levels->codes; i++)
        out[i] = deviation(inverse_at(levels, inverse, i, i));
    free(inverse);
}

void levels_between(double *size, double *error, const struct levels *levels, size_t from,
                    size_t to)
{
    const struct level_factor *f = levels->factor;
    assert(from < levels->codes && to < levels->codes && f->dirty == levels->codes);
    *size = *error = INFINITY;
    if (levels->mark[from] != levels->mark[to])
        return;
    double *z = xcalloc(levels->codes, sizeof(*z)), square = 0;
    const size_t first = f->at[from] < f->at[to] ? f->at[from] : f->at[to];
    if (from != to && !level_known(levels, from))
        z[f->at[from]] = -1;
    if (from != to && !level_known(levels, to))
        z[f->at[to]] = 1;
    for (size_t p = first; p < levels->codes; p++) {
        const size_t begin = f->begin[p] > first ? f->begin[p] : first;
        const double *row = f->value + f->offset[p];
        const double dot = level_dot(row + (begin - f->begin[p]), z + begin, p - begin);
        z[p] = (z[p] - dot) * row[p - f->begin[p]];
        square += z[p] * z[p];
    }
    free(z);
    *size = levels->level[to] - levels->level[from];
    *error = deviation(square);
}

// The two-sided tail of Student's t falls with t, so halving finds where it is 1 - confidence.
double levels_reach(const struct levels *levels, double confidence)
{
    assert(levels->degrees > 0 && confidence > 0 && confidence < 1);
    const double degrees = levels->degrees;
    double low = 0, high = 1e6;
    for (int i = 0; i < 100; i++) {
        const double t = (low + high) / 2;
        const double tail = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
        *(tail > 1 - confidence ? &low : &high) = t;
    }
    return high;
}
