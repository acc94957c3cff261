// SPDX-License-Identifier: Apache-2.0
//
// How well the loops of links close, and what that says of the levels' errors.
//
// What pairs cannot see. Pairs of one process share the placement of code and data, so two codes
// differ by an amount that more pairs do not take away, and that the standard error s of the pairs
// does not know: t, the misclosure. Codes of unlike speed also disturb each other, by the power and
// the cache that they leave to the next, and that grows with how unlike they are: u d, where d is
// what the change has beyond 1 %. So a link's variance is s^2 + t^2 + u^2 d^2. Simplegemm's on an
// H200 need the last: its changes of 5 to 39 % miss by up to 3.7 %, those below 2 % by 0.1 %
// (baselines/recorded/h200/history). It all shows where links form a loop: their log ratios must
// add up to zero.
//
// Which loops. All: the residuals r of the least squares are what is left of the misclosures of
// every loop, and do not depend on which of them one would write down. There are as many
// independent ones as links less codes plus components. Components are levelled apart, but their
// loops count together: they are of one series and device, so t and u are one. A component without
// a loop has residuals of zero; it adds nothing to the estimate, and takes both from the others.
//
// Which estimator. Restricted maximum likelihood (Patterson and Thompson 1971). With v the links'
// variances, weights 1 / v and leverages h_l = var(x_b - x_a) / v_l, it asks that
//     sum (r^2 - (1 - h) v) f / v^2 = 0    for f = 1 and for f = d^2,
// whose expectation is exact. A link tells of t by 1 / v^2: so sure loops decide on it, and what a
// coarse link misses by, which its own s or its d explain, hardly counts. For fixed r and h that is
// a least squares of r^2 / (1 - h) - s^2 on 1 and d^2, weighed anew until it stands still. Two
// priors are observations among them (the mode with a scaled inverse chi-square each): for t the
// caller's, 0.1 % as if from four loops; for u 1 %, as if from one, because own and strangers'
// kernels on an H200 are at or below it and simplegemm far above it; without any loop they are
// t and u. A residual of unlike codes beyond a fifth of their change is no u, but a misfit. One to
// three loops thus move t little, and intervals hold what they should (test_levels_unlike.c).
//
// The equations are weighed and factored anew only where a variance came out more than a fifth off
// what it was weighed with; then all errors are multiplied by the square root of what is left on
// average, the standard deviation of unit weight of the surveyors. It begins with the priors; in a
// long history with what the newest codes say for themselves, so that one factor and one inverse
// are nearly always all. Intervals are Student's: degrees of freedom are the prior's weight and the
// loops, each counted for (t^2 / v)^2 of one, which is how far it tells of t.
//
// A link that does not fit. Its residual over its own standard deviation, sqrt((1 - h) / w), is
// held against those of all others (externally studentised, so that neither a wrong link nor a
// wrong t hides it; Baarda 1968 had the idea for levelling nets). It is set aside, one at a time.
// One wrong link cannot hide behind its own square, but several can behind each other's: with 5 in
// 100 off by 3 %, t came out at 0.18 %, u at 17 %, 17 in 100 of them were found, and intervals of
// 95 % held 91.6 %. So while misfits are looked for, no link counts for more than 1.5 standard
// deviations, in t, in u and in what the worst is held against: squares are min(r^2, (1.5 sd)^2)
// over 0.778, their mean where errors are normal (Huber's proposal 2, 1964). What then remains is
// estimated once more by its whole squares: heavy tails are no misfits and shall count.
// The chance is 1 % over all links that any good one is taken for bad, and 1 % more for each that
// is already aside: of those set aside, one in a hundred is good (Benjamini and Hochberg 1995).
//
// Doubt. Links that are in the same loops and no others have the same score, whichever of them is
// wrong: then all k of them are doubted and none is set aside, and the next worst is looked at. So
// one loop alone convicts nobody. What their loops miss, M = r / (1 - h), is the error of one of
// them: for each, a variance of M^2 / k besides its own. So the intervals of the codes between them
// hold either answer. A doubted link tells nothing of t and u. It is asked anew whenever another
// was set aside: many doubts came from that one.
#include "model/history/level_factor.h"
#include "model/history/level_told.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UPDATES = 6, ASIDE_MOST = 128, NEWEST = 256, STEPS_MOST = 60, STRIDE = 4 };

static const double false_alarm = 0.01;
static const double tie = 0.999;             // of the worst score: as bad as the worst
static const double near_enough = 0.2;       // of a variance
static const double still = 0.01;            // of a variance, from step to step
static const double bound = 1.5;             // standard deviations
static const double bounded_mean = 0.778469; // of the square of a normal value within them
static const double own_errors = 3; // a residual within so many of its link's errors is none

const struct moderation levels_prior = {.sd = 0.001, .weight = 4};
// u of the top.
static const struct moderation unlike_prior = {.sd = 0.01, .weight = 1};
static const double unlike_most = 0.2;

// ---- misclosure ----

struct closing {
    struct told *told;    // of the links that are in a loop
    size_t count, tested; // tested: those that are settled among them
    struct told settled[SETTLED_ERRORS * SETTLED_CHANGES]; // these, those of a kind as one
    size_t settled_count;
    double square, loops; // sum w r^2, and of redundancy
    double bounded;       // sum of redundancy r^2 / v, as bounded()
    bool wary;            // misfits may be among them: what each can add is bounded
    size_t worst, aside;
    double score, part; // of the worst; its redundancy
    double *scores;     // of each link
};

// The square of a link with that variance, for an estimate that misfits shall not move far.
static double bounded(double square, double variance)
{
    return fmin(square, bound * bound * variance) * (1 / bounded_mean);
}

static void look(struct closing *c, const struct levels *levels)
{
    const struct settled_sums *settled = &levels->factor->settled.sums;
    double w, r;
    level_invert(levels);
    c->square = settled->square;
    c->loops = settled->loops;
    c->score = 0;
    c->count = c->worst = 0;
    for (size_t i = 0; i < levels->links; i++) {
        struct told *t = &c->told[c->count];
        c->scores[i] = 0;
        if (!level_tell(t, &w, &r, levels, i))
            continue;
        c->count++;
        const double error = levels->factor->links[i].error;
        c->square += w * r * r;
        c->loops += t->redundancy;
        c->scores[i] = fabs(r) > own_errors * error ? fabs(r) * sqrt(w / t->redundancy) : 0;
        if (c->scores[i] > c->score) {
            c->score = c->scores[i];
            c->part = t->redundancy;
            c->worst = i;
        }
    }
    c->tested = c->count + settled->count;
}

// Whether the worst link is beyond what chance gives the worst of so many good ones.
static bool misfit(const struct closing *c, double unit)
{
    const double degrees = c->loops - 1;
    if (degrees < 1 - level_bridge || c->score == 0)
        return false;
    const double square = c->score * c->score, unit2 = unit * unit;
    const double plain = fmax(c->square - square, 1e-12 * c->square) / degrees;
    const double crowd = (unit2 * c->bounded - c->part * bounded(square, unit2)) /
                         fmax(c->loops - c->part, level_bridge);
    const double t2 = square / fmin(plain, fmax(crowd, 1e-12 * unit2));
    const double p = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t2));
    return p * (double)c->tested < false_alarm * (double)(1 + c->aside);
}

// The link has another weight from now on.
static void put(struct levels *levels, size_t link, enum link_fit fit, double doubt)
{
    struct level_factor *f = levels->factor;
    const size_t from = f->at[f->links[link].from], to = f->at[f->links[link].to];
    const size_t old = from < to ? from : to;
    levels->fit[link] = fit;
    f->doubt[link] = doubt;
    f->dirty = old < f->dirty ? old : f->dirty;
}

// All that are as bad as the worst, each with its part of what their loops miss. False: it alone
// is.
static bool doubted(struct levels *levels, const struct closing *c)
{
    struct told worst;
    double w, r;
    size_t tied = 0;
    for (size_t i = 0; i < levels->links; i++)
        tied += levels->fit[i] == LINK_FITS && c->scores[i] >= tie * c->score;
    if (tied == 1)
        return false;
    level_tell(&worst, &w, &r, levels, c->worst);
    for (size_t i = 0; i < levels->links; i++) {
        if (levels->fit[i] == LINK_FITS && c->scores[i] >= tie * c->score)
            put(levels, i, LINK_DOUBTED, worst.square / worst.redundancy / (double)tied);
    }
    return true;
}

// True: the equations are others now.
static bool set_aside(struct levels *levels, struct closing *c)
{
    if (!misfit(c, levels->unit))
        return false;
    if (doubted(levels, c))
        return true; // behind them there may be one that is wrong alone
    put(levels, c->worst, LINK_ASIDE, 0);
    c->aside++;
    for (size_t i = 0; i < levels->links; i++) {
        if (levels->fit[i] == LINK_DOUBTED)
            put(levels, i, LINK_FITS, 0); // it may not be so bad without the other
    }
    return true;
}

// ---- variances ----

static struct unseen found_in(const struct levels *levels)
{
    return (struct unseen){levels->misclosure * levels->misclosure,
                           levels->unlike * levels->unlike};
}

struct score {
    double aa, ac, cc, a, c;
};

static void add_score(struct score *s, const struct told *t, struct unseen at, bool wary)
{
    const double variance = told_variance(t, at);
    const double w = t->redundancy / (variance * variance);
    const double left = (wary ? bounded(t->square, variance) : t->square) - t->pairs;
    s->aa += w;
    s->ac += w * t->change;
    s->cc += w * t->change * t->change;
    s->a += w * left;
    s->c += w * left * t->change;
}

// One step of scoring: least squares of what is left of the squares, on 1 and d^2, with the weights
// that `at` gives them; each prior is an observation.
static struct unseen scored(const struct closing *c, struct unseen at,
                            const struct moderation *prior)
{
    const double any = prior->weight / (at.any * at.any);
    const double change = unlike_prior.weight / (at.change * at.change);
    struct score s = {.aa = any,
                      .cc = change,
                      .a = any * prior->sd * prior->sd,
                      .c = change * unlike_prior.sd * unlike_prior.sd};
    for (size_t i = 0; i < c->settled_count; i++)
        add_score(&s, &c->settled[i], at, false);
    for (size_t i = 0; i < c->count; i++)
        add_score(&s, &c->told[i], at, c->wary);
    const double all = s.aa * s.cc - s.ac * s.ac;
    return (struct unseen){(s.a * s.cc - s.c * s.ac) / all, (s.c * s.aa - s.a * s.ac) / all};
}

static double within(double value, double about)
{
    return fmin(fmax(value, about / STRIDE), about * STRIDE);
}

// How far a loop tells of what no link's pairs see.
static double degrees_of(const struct told *t, struct unseen u)
{
    const double share = u.any / told_variance(t, u);
    return t->redundancy * share * share;
}

// Both by what the residuals say, and how far these tell of what no link's pairs see.
static void estimate(struct levels *levels, const struct closing *c, const struct moderation *prior)
{
    struct unseen u = c->wary ? level_weighed_with(levels) : found_in(levels);
    for (int step = 0; step < STEPS_MOST; step++) {
        const struct unseen next = scored(c, u, prior), last = u;
        u = (struct unseen){within(next.any, last.any),
                            fmin(within(next.change, last.change), unlike_most * unlike_most)};
        if (fabs(u.any - last.any) <= still * last.any &&
            fabs(u.change - last.change) <= still * last.change)
            break;
    }
    levels->misclosure = sqrt(u.any);
    levels->unlike = sqrt(u.change);
    levels->degrees = prior->weight;
    for (size_t i = 0; !c->wary && i < c->settled_count; i++)
        levels->degrees += degrees_of(&c->settled[i], u);
    for (size_t i = 0; !c->wary && i < c->count; i++)
        levels->degrees += degrees_of(&c->told[i], u);
}

// Sets the unit to what is left of the links' variances over those that they are weighed with.
// True: it is about the same for all of them, and near 1.
static bool well_weighed(struct levels *levels, struct closing *c)
{
    const struct unseen at = level_weighed_with(levels), found = found_in(levels);
    const struct settled_sums *s = &levels->factor->settled.sums;
    double left = s->pairs + found.any * s->any + found.change * s->change;
    double least = 1, most = 1, loops = s->redundancy;
    c->bounded = 0;
    for (size_t i = 0; i < c->settled_count; i++) {
        const struct told *t = &c->settled[i];
        c->bounded += t->redundancy * t->square / told_variance(t, found);
    }
    for (size_t i = 0; i < c->count; i++) {
        const struct told *t = &c->told[i];
        const double variance = told_variance(t, found), ratio = variance / told_variance(t, at);
        least = fmin(least, ratio);
        most = fmax(most, ratio);
        left += t->redundancy * ratio;
        c->bounded += t->redundancy * bounded(t->square / variance, 1);
        loops += t->redundancy;
    }
    levels->unit = loops > 0 ? sqrt(left / loops) : 1;
    return most < 1 + near_enough && least > 1 - near_enough;
}

static void weigh(struct levels *levels, double misclosure, double unlike)
{
    levels->weighed = misclosure;
    levels->weighed_unlike = unlike;
    levels->factor->dirty = 0;
    levels->rounds++;
}

static void begin_with(struct levels *levels, const struct levels *begin,
                       const struct moderation *prior)
{
    for (size_t i = 0; i < levels->links; i++)
        levels->fit[i] = LINK_FITS;
    memset(levels->factor->doubt, 0, levels->links * sizeof(*levels->factor->doubt));
    levels->misclosure = prior->sd;
    levels->unlike = unlike_prior.sd;
    levels->unit = 1;
    levels->degrees = prior->weight;
    levels->rounds = 0;
    if (levels->factor->settled.codes)
        weigh(levels, levels->factor->settled.misclosure, levels->factor->settled.unlike);
    else
        weigh(levels, begin ? begin->misclosure : prior->sd,
              begin ? begin->unlike : unlike_prior.sd);
}

static void take_settled(struct closing *c, const struct settled_sums *sums)
{
    const struct settled_told *told = &sums->told[0][0];
    for (size_t i = 0; i < ARRAY_COUNT(c->settled); i++) {
        const struct settled_told *t = &told[i];
        if (t->redundancy > 0)
            c->settled[c->settled_count++] =
                (struct told){t->pairs / t->redundancy, t->change / t->redundancy, t->redundancy,
                              t->square / t->redundancy};
    }
}

static int close_from(struct levels *levels, const struct levels *begin,
                      const struct moderation *prior, struct error *err)
{
    struct closing c = {.scores = xcalloc(levels->links + 1, sizeof(*c.scores)),
                        .told = xcalloc(levels->links + 1, sizeof(*c.told))};
    size_t updates = 0;
    int status;
    c.wary = true;
    begin_with(levels, begin, prior);
    take_settled(&c, &levels->factor->settled.sums);
    while ((status = levels_solve(levels, err)) == 0 && levels->codes) {
        look(&c, levels);
        estimate(levels, &c, prior);
        const bool well = well_weighed(levels, &c);
        if (!well && updates++ < UPDATES) {
            weigh(levels, levels->misclosure, levels->unlike);
            continue;
        }
        if (!c.wary)
            break;
        updates = 0;
        if (c.aside < ASIDE_MOST && set_aside(levels, &c))
            continue;
        c.wary = false;
        estimate(levels, &c, prior);
        if (well_weighed(levels, &c))
            break;
        weigh(levels, levels->misclosure, levels->unlike);
    }
    free(c.scores);
    free(c.told);
    return status;
}

// The links among the newest codes, closed, to begin with; NULL: they are too tangled. The caller:
// levels_free.
static struct levels *newest_closed(const struct levels *levels, const struct moderation *prior)
{
    const size_t first = levels->codes > NEWEST ? levels->codes - NEWEST : 0;
    struct levels *newest = levels_new();
    struct error ignored;
    for (size_t i = 0; i < levels->links; i++) {
        struct level_link link = levels->factor->links[i];
        if (link.from < first || link.to < first)
            continue;
        link.from -= first;
        link.to -= first;
        levels_add(newest, &link);
    }
    if (close_from(newest, NULL, prior, &ignored) == 0)
        return newest;
    levels_free(newest);
    return NULL;
}

int levels_close(struct levels *levels, const struct moderation *prior, struct error *err)
{
    assert(prior->sd > 0 && prior->weight > 0);
    const bool many = levels->codes > 4 * NEWEST && !levels->factor->settled.codes;
    struct levels *newest = many ? newest_closed(levels, prior) : NULL;
    const int status = close_from(levels, newest, prior, err);
    levels_free(newest);
    return status;
}
