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
// means). So t^2 = (sum w r^2 - sum w s^2 (1 - h)) / sum w (1 - h). Weights that are a little off
// cost little: the estimate stays unbiased, and the levels' variance rises with the square of the
// error. So the equations are weighed and factored anew only where s^2 + t^2 came out more than a
// fifth off what they were weighed with, at most twice; then all errors are multiplied by the
// square root of what is left, the standard deviation of unit weight of the surveyors. It begins
// with the prior; in a long history with what the newest codes say for themselves, so that one
// factor and one inverse are nearly always all. The estimate is moderated by the prior as by some
// loops more, and never below 0. A loop tells of t only as far as t makes it: where the pairs' own
// errors are larger, as on a busy host, it counts for share^2 of one, share being the part of E sum
// w r^2 that is t's (the variance of the estimate says so). Without any loop t is the prior.
// Intervals are Student's, with the loops so counted and the prior's weight as degrees of freedom:
// few widen them.
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

enum { UPDATES = 2, ASIDE_MOST = 16, NEWEST = 256 };

static const double false_alarm = 0.01;
static const double tie = 0.999;       // of the worst score: as bad as the worst
static const double bridge = 1e-7;     // redundancy of a link in no loop, but for rounding
static const double near_enough = 0.2; // log ratio of variances
static const double own_errors = 3;    // a residual within so many of its link's errors is none

const struct moderation levels_prior = {.sd = 0.001, .weight = 4};

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
    level_invert(levels);
    c->square = c->seen = c->unseen = c->score = 0;
    c->tested = c->worst = 0;
    for (size_t i = 0; i < levels->links; i++) {
        const struct level_link *link = &levels->factor->links[i];
        c->scores[i] = 0;
        if (levels->fit[i] == LINK_ASIDE)
            continue;
        const double w = level_weight(levels, i);
        const double r = link->log_ratio - (levels->level[link->to] - levels->level[link->from]);
        const double redundancy = 1 - w * level_variance(levels, link->from, link->to);
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

// The misclosure by what the residuals say. Its share of what they say is how far they tell of it.
static void estimate(struct levels *levels, const struct closing *c, const struct moderation *prior)
{
    const double known = prior->sd * prior->sd;
    const double found = c->unseen > 0 ? (c->square - c->seen) / c->unseen : 0;
    const double unseen = c->unseen * fmax(known, found);
    const double share = unseen > 0 ? unseen / (c->seen + unseen) : 0;
    const double loops = (double)levels->loops * share * share;
    const double variance = (prior->weight * known + loops * found) / (prior->weight + loops);
    levels->misclosure = sqrt(fmax(variance, 0));
    levels->degrees = prior->weight + loops;
}

// Variance of a link, as estimated, over the one it is weighed with.
static double off(const struct levels *levels, const struct closing *c)
{
    const double pairs = c->unseen > 0 ? c->seen / c->unseen : 0;
    const double now = levels->misclosure * levels->misclosure;
    const double weighed = levels->weighed * levels->weighed;
    return c->unseen > 0 ? (pairs + now) / (pairs + weighed) : 1;
}

static void weigh(struct levels *levels, double misclosure)
{
    levels->weighed = misclosure;
    levels->factor->dirty = 0;
    levels->rounds++;
}

static int close_from(struct levels *levels, double begin, const struct moderation *prior,
                      struct error *err)
{
    struct closing c = {.scores = xcalloc(levels->links + 1, sizeof(*c.scores))};
    size_t updates = 0, aside = 0;
    int status;
    for (size_t i = 0; i < levels->links; i++)
        levels->fit[i] = LINK_FITS;
    levels->misclosure = prior->sd;
    levels->degrees = prior->weight;
    levels->unit = 1;
    levels->rounds = 0;
    weigh(levels, begin);
    while ((status = levels_solve(levels, err)) == 0 && levels->codes) {
        look(&c, levels);
        if (aside < ASIDE_MOST && set_aside(levels, &c)) {
            aside++;
            continue;
        }
        estimate(levels, &c, prior);
        levels->unit = sqrt(off(levels, &c));
        if (fabs(2 * log(levels->unit)) < near_enough || updates++ == UPDATES)
            break;
        weigh(levels, levels->misclosure);
    }
    free(c.scores);
    return status;
}

// The misclosure of the links among the newest codes, to begin with.
static double newest_say(const struct levels *levels, const struct moderation *prior)
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
    const bool closed = close_from(newest, prior->sd, prior, &ignored) == 0 && newest->loops;
    const double found = closed ? newest->misclosure : prior->sd;
    levels_free(newest);
    return found;
}

int levels_close(struct levels *levels, const struct moderation *prior, struct error *err)
{
    assert(prior->sd > 0 && prior->weight > 0);
    const bool many = levels->codes > 4 * NEWEST;
    return close_from(levels, many ? newest_say(levels, prior) : prior->sd, prior, err);
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
