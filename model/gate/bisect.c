// SPDX-License-Identifier: Apache-2.0
//
// The search for a culprit c by duets. A duet of commit k against good has mean 0 if k < c,
// and otherwise the effect, which is known as well as the duet of bad against good tells.
// Duets in fresh processes differ by between_sd, in addition to their own standard error. So
// with independent duets
//
//     log p(c | duets) = log prior(c) + sum over k >= c of l_k + const,
//     l_k = log N(y; effect, s^2 + effect_se^2) - log N(y; 0, s^2),   s^2 = se^2 + between_sd^2.
//
// The prior is even over all commits, except those that equal code ids rule out. The next commit is
// the one whose duet is expected to tell most about c (Lindley, "On a measure of the information
// provided by an experiment", 1956): the mutual information of "k >= c" and a normal reading of it.
// Candidates between two commits that can be tested cannot be told apart, so they are treated as
// one: a commit that does not build is never cleared at its successor's cost.
#include "model/gate/bisect.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double square(double x)
{
    return x * x;
}

// Rules out the commits in (i, j] when i and j run the same code.
static void rule_out(const struct bisect *b, bool *possible)
{
    possible[0] = false;
    for (size_t j = 1; j < b->count; j++)
        possible[j] = true;
    for (size_t j = 1; j < b->count; j++) {
        for (size_t i = 0; b->commits[j].code && i < j; i++) {
            if (!b->commits[i].code || strcmp(b->commits[i].code, b->commits[j].code) != 0)
                continue;
            for (size_t k = i + 1; k <= j; k++)
                possible[k] = false;
            break;
        }
    }
}

static void update(struct bisect *b)
{
    bool *possible = xcalloc(b->count, sizeof(*possible));
    rule_out(b, possible);
    double log_sum = 0, largest = -INFINITY, total = 0;
    for (size_t c = b->count; c-- > 0;) {
        log_sum += b->commits[c].log_ratio;
        b->posterior[c] = possible[c] ? log_sum : -INFINITY;
        largest = fmax(largest, b->posterior[c]);
    }
    for (size_t c = 0; c < b->count; c++) {
        b->posterior[c] = isfinite(largest) ? exp(b->posterior[c] - largest) : 0;
        total += b->posterior[c];
    }
    for (size_t c = 0; c < b->count && total > 0; c++)
        b->posterior[c] /= total;
    free(possible);
}

int bisect_start(struct bisect *out, size_t count, const struct bisect_options *options,
                 struct error *err)
{
    assert(count >= 2 && options->expected_se > 0);
    if (!(fabs(options->effect) >= 3 * options->effect_se))
        return error_set(err,
                         "good and bad differ by %+.2f %%, with a standard error of %.2f %%: too "
                         "little to bisect; "
                         "measure them longer or choose others",
                         100 * expm1(options->effect), 100 * options->effect_se);
    struct bisect b = {.options = *options, .count = count};
    b.commits = xcalloc(count, sizeof(*b.commits));
    b.posterior = xcalloc(count, sizeof(*b.posterior));
    update(&b);
    *out = b;
    return 0;
}

void bisect_free(struct bisect *bisect)
{
    for (size_t i = 0; i < bisect->count; i++)
        free(bisect->commits[i].code);
    free(bisect->commits);
    free(bisect->posterior);
    memset(bisect, 0, sizeof(*bisect));
}

void bisect_set_code(struct bisect *bisect, size_t commit, const char *code)
{
    assert(commit < bisect->count);
    free(bisect->commits[commit].code);
    bisect->commits[commit].code = code && *code ? xstrdup(code) : NULL;
    update(bisect);
}

bool bisect_knows_code(const struct bisect *bisect, size_t commit)
{
    for (size_t i = 0; i < bisect->count; i++) {
        const struct bisect_commit *c = &bisect->commits[i];
        const bool told = i == 0 || i + 1 == bisect->count || c->duets;
        if (i != commit && c->code && told && strcmp(c->code, bisect->commits[commit].code) == 0)
            return true;
    }
    return false;
}

void bisect_skip(struct bisect *bisect, size_t commit)
{
    assert(commit < bisect->count);
    bisect->commits[commit].untestable = true;
}

void bisect_observe(struct bisect *bisect, size_t commit, double log_ratio, double se)
{
    assert(commit < bisect->count && se > 0 && isfinite(log_ratio));
    const struct bisect_options *o = &bisect->options;
    struct bisect_commit *c = &bisect->commits[commit];
    double same = square(se) + square(o->between_sd);
    double changed = same + square(o->effect_se);
    c->log_ratio += 0.5 * (square(log_ratio) / same - square(log_ratio - o->effect) / changed -
                           log(changed / same));
    c->duets++;
    c->sum += log_ratio / same;
    c->weight += 1 / same;
    update(bisect);
}

static double entropy(double p)
{
    return p <= 0 || p >= 1 ? 0 : -p * log(p) - (1 - p) * log1p(-p);
}

// The mutual information, in nats, of a coin with probability p and a normal reading of it whose
// two means lie `apart` standard deviations from each other: H(p) less the mean entropy after the
// reading.
static double information(double p, double apart)
{
    enum { STEPS = 200 };
    double rest = 0, width = (apart + 12) / STEPS;
    for (int i = 0; i < STEPS; i++) {
        double y = -6 + (i + 0.5) * width;
        double on = p * exp(-0.5 * square(y - apart)), off = (1 - p) * exp(-0.5 * square(y));
        if (on + off > 0)
            rest += (on + off) * entropy(on / (on + off)) * width / sqrt(2 * M_PI);
    }
    return fmax(entropy(p) - rest, 0);
}

static void choose(struct bisect_step *step, const struct bisect *b)
{
    const struct bisect_options *o = &b->options;
    double apart = fabs(o->effect) / sqrt(square(o->expected_se) + square(o->between_sd) +
                                          0.5 * square(o->effect_se));
    double changed = 0;
    step->information = -1;
    for (size_t k = 1; k + 1 < b->count; k++) {
        changed += b->posterior[k];
        if (b->commits[k].untestable)
            continue;
        double gain = information(fmin(changed, 1), apart);
        if (gain > step->information) {
            step->information = gain;
            step->commit = k;
        }
    }
}

// Finds the likeliest group. All candidates up to the next commit that can be tested form one
// group.
static void likeliest(struct bisect_step *step, const struct bisect *b)
{
    size_t first = 1;
    double mass = 0;
    for (size_t k = 1; k < b->count; k++) {
        mass += b->posterior[k];
        if (b->commits[k].untestable && k + 1 < b->count)
            continue;
        if (mass > step->probability) {
            step->probability = mass;
            step->first = first;
            step->last = k;
        }
        first = k + 1;
        mass = 0;
    }
    while (step->first < step->last && b->posterior[step->first] <= 0)
        step->first++;
}

static bool inconsistent(const struct bisect *b, size_t culprit)
{
    double squares = 0, tested = 0;
    for (size_t k = 1; k < b->count; k++) {
        const struct bisect_commit *c = &b->commits[k];
        if (c->duets == 0)
            continue;
        double expected = k >= culprit ? b->options.effect : 0;
        double variance = 1 / c->weight + (k >= culprit ? square(b->options.effect_se) : 0);
        squares += square(c->sum / c->weight - expected) / variance;
        tested++;
    }
    // The mean of chi-squared plus four standard deviations; a single odd commit below 4 is never
    // enough.
    return tested > 0 && squares > tested + 4 * sqrt(2 * tested) + 8;
}

struct bisect_step bisect_next(const struct bisect *b)
{
    struct bisect_step step = {.state = BISECT_IMPOSSIBLE};
    likeliest(&step, b);
    if (step.probability <= 0)
        return step;
    step.inconsistent = inconsistent(b, step.last);
    choose(&step, b);
    bool told = step.probability >= b->options.confidence;
    // Nothing is left to test: the other commits cannot be tested.
    step.state = told || step.information <= 0 ? BISECT_FOUND : BISECT_TEST;
    return step;
}
