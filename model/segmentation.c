// SPDX-License-Identifier: Apache-2.0
//
// 1. Noise from differences: scale and lag-1 correlation r (model/noise.h). The mean of many values
//    varies (1 + r) / (1 - r) times as much as that of independent ones, and penalties grow by the
//    same factor (Lavielle and Moulines, "Least-squares estimation of an unknown number of shifts
//    in a time series", 2000: a penalty must grow with the long-run variance). In short series r
//    from differences is vague; the residuals of a first segmentation, made as if r were 0, bound
//    it.
// 2. Exact segmentation with a bounded cost (model/potts.h).
// 3. The residuals are held against the noise assumed: sums of 1, 2, 4, ... residuals in a row. If
//    they vary more, the noise was underestimated (longer memory than AR(1), several modes, drift)
//    and 2 is repeated with what was found. Each pass only raises it, so this ends.
// 4. Steps that do not stand out of the scatter right around them are dropped, weakest first: noise
//    may be louder in some stretches than in others.
//
// Short series: a scale known with v degrees of freedom turns a chi-squared statistic into an F
// one, whose likelihood ratio is v log(1 + x / v), so a threshold x becomes v (exp(x / v) - 1).
#include "model/segmentation.h"

#include "model/base.h"
#include "model/noise.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_PASSES = 30,
    MIN_BLOCKS = 16,   // fewer sums say too little of their variance
    SHORT = 500,       // values; with more, differences tell r well enough
    PRIOR_VALUES = 10, // weight of its surroundings in a segment's own variance
};
static const double max_correlation = 0.98;
static const double max_inflation = 20; // r = 0.905
static const double efficiency = 0.4;   // degrees of freedom per value of a trimmed scale

double segmentation_inflation(const struct segmentation *s)
{
    return s->long_run / s->variance;
}

bool segmentation_wanders(const struct segmentation *s)
{
    return segmentation_inflation(s) > max_inflation;
}

double segmentation_widen(const struct segmentation *s, double threshold)
{
    double freedom = efficiency * (double)s->n / segmentation_inflation(s);
    return freedom * expm1(fmin(threshold / freedom, 50));
}

static double clip(double value, double bound)
{
    return fmax(-bound, fmin(bound, value));
}

// The bounded cost stops counting here.
static double reach(const struct segmentation *s)
{
    return s->bound * sqrt(s->variance);
}

static void load(struct segmentation *s, const double *values, size_t n)
{
    s->y = xcalloc(n, sizeof(*s->y));
    s->where = xcalloc(n, sizeof(*s->where));
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i]))
            continue;
        s->y[s->n] = values[i];
        s->where[s->n++] = i;
        largest = fmax(largest, fabs(values[i]));
    }
    // Any magnitude: 1e-300 and 1e300 alike must neither vanish nor overflow when squared.
    s->scale = largest > 0 ? largest : 1;
    for (size_t i = 0; i < s->n; i++)
        s->y[i] /= s->scale;
}

// From here on, values are in units of the noise. False for a constant series.
static bool normalise(struct segmentation *s)
{
    struct series_noise noise = noise_estimate(s->y, s->n);
    if (!(noise.sigma > 0))
        return false;
    double *scratch = xcalloc(s->n, sizeof(*scratch));
    memcpy(scratch, s->y, s->n * sizeof(*scratch));
    s->centre = robust_median(scratch, s->n);
    free(scratch);
    // Beyond a million million noise widths the distance does not matter, only that it is finite.
    for (size_t i = 0; i < s->n; i++)
        s->y[i] = clip((s->y[i] - s->centre) / noise.sigma, 1e12);
    s->centre *= s->scale;
    s->scale *= noise.sigma;
    s->correlation = fmin(noise.correlation, max_correlation);
    s->variance = noise.correlation < 1 ? 1 : 1 / (1 - max_correlation);
    s->step_variance = s->variance * (1 - s->correlation);
    s->long_run = s->variance * noise_inflation(s->correlation);
    s->suspect = segmentation_wanders(s);
    return true;
}

// Lag-1 correlation of the residuals of a segmentation that takes them for independent: an upper
// bound, by its bias (each fitted level costs about (1 + 4 r) / n: Kendall, "Note on bias in the
// estimation of autocorrelation", Biometrika 1954) and one standard error.
static double residual_correlation(const struct segmentation *s)
{
    size_t count;
    struct potts_segment *segments = potts_fit(
        &count, s->y, s->n, s->bound * sqrt(s->step_variance), s->penalty * s->step_variance);
    double cross = 0, squares = 0, bound = reach(s);
    for (size_t j = 0; j < count; j++) {
        double before = 0;
        for (size_t i = segments[j].first; i < segments[j].end; i++) {
            double residual = clip(s->y[i] - segments[j].level, bound);
            cross += residual * before;
            squares += residual * residual;
            before = residual;
        }
    }
    free(segments);
    double n = (double)s->n, r = squares > 0 ? cross / squares : 0;
    return fmax(0, r + (1 + 4 * fmax(r, 0)) * (double)count / n + 1 / sqrt(n));
}

static void bound_correlation(struct segmentation *s)
{
    double r = residual_correlation(s);
    if (r >= s->correlation)
        return;
    s->correlation = r;
    s->variance = s->step_variance / (1 - r);
    s->long_run = s->variance * noise_inflation(r);
}

static double clipped_mean(const struct segmentation *s, const struct potts_segment *segment)
{
    double bound = reach(s), sum = 0;
    for (size_t i = segment->first; i < segment->end; i++)
        sum += clip(s->y[i] - segment->level, bound);
    return segment->level + sum / (double)(segment->end - segment->first);
}

// Variance per value of sums of `length` residuals in a row, within segments at least four times as
// long. Lowered by its own standard error, so that chance alone rarely raises it; 0 if there are
// too few.
static double sum_variance(const struct segmentation *s, size_t length)
{
    double bound = reach(s), squares = 0, blocks = 0;
    for (size_t j = 0; j < s->count; j++) {
        const struct potts_segment *segment = &s->segments[j];
        size_t size = segment->end - segment->first;
        if (size < 4 * length)
            continue;
        double mean = clipped_mean(s, segment) - segment->level;
        for (size_t first = segment->first; first + length <= segment->end; first += length) {
            double sum = 0;
            for (size_t i = first; i < first + length; i++)
                sum += clip(s->y[i] - segment->level, bound) - mean;
            squares += sum * sum / (double)length;
            blocks += 1 - (double)length / (double)size; // the mean was fitted
        }
    }
    return blocks < MIN_BLOCKS ? 0 : squares / blocks / (1 + sqrt(2 / blocks));
}

// One value in ten or more beyond the bound is a second mode, not outliers: then the scale is that
// of the residuals that hold 95 %. Says whether it was raised.
static bool raise_scale(struct segmentation *s)
{
    double bound = reach(s);
    double *residuals = xcalloc(s->n, sizeof(*residuals));
    size_t beyond = 0, at = (s->n * 19) / 20;
    for (size_t j = 0; j < s->count; j++) {
        for (size_t i = s->segments[j].first; i < s->segments[j].end; i++) {
            residuals[i] = fabs(s->y[i] - s->segments[j].level);
            beyond += residuals[i] > bound;
        }
    }
    bool raised = 10 * beyond > s->n;
    if (raised) {
        robust_median(residuals, s->n); // sorts
        double ratio = pow(residuals[at] / normal_quantile(0.975), 2) / s->variance;
        raised = ratio > 1.02;
        s->variance *= raised ? ratio : 1;
        s->long_run *= raised ? ratio : 1;
    }
    free(residuals);
    return raised;
}

static void fit(struct segmentation *s)
{
    for (int pass = 0; pass < MAX_PASSES && !segmentation_wanders(s); pass++) {
        free(s->segments);
        s->segments = potts_fit(&s->count, s->y, s->n, reach(s),
                                segmentation_widen(s, s->penalty) * s->long_run);
        double seen = 0;
        for (size_t length = 1; length <= s->n / 4; length *= 2)
            seen = fmax(seen, sum_variance(s, length));
        if (seen > 1.02 * s->long_run)
            s->long_run = seen;
        else if (raise_scale(s))
            s->suspect = false; // the differences saw two modes
        else
            break;
    }
    for (size_t j = 0; j < s->count; j++)
        s->segments[j].level = clipped_mean(s, &s->segments[j]);
}

static double squares_about(const struct segmentation *s, const struct potts_segment *segment)
{
    double bound = reach(s), sum = 0;
    for (size_t i = segment->first; i < segment->end; i++) {
        double residual = clip(s->y[i] - segment->level, bound);
        sum += residual * residual;
    }
    return sum;
}

double segmentation_score(const struct segmentation *s, size_t j)
{
    const struct potts_segment *a = &s->segments[j], *b = a + 1;
    double size_a = (double)(a->end - a->first), size_b = (double)(b->end - b->first);
    double squares_a = squares_about(s, a), squares_b = squares_about(s, b);
    double pooled =
        (squares_a + squares_b + PRIOR_VALUES * s->variance) / (size_a + size_b - 2 + PRIOR_VALUES);
    double variance_a = (squares_a + PRIOR_VALUES * pooled) / (size_a - 1 + PRIOR_VALUES);
    double variance_b = (squares_b + PRIOR_VALUES * pooled) / (size_b - 1 + PRIOR_VALUES);
    double gap = b->level - a->level;
    return gap * gap / (segmentation_inflation(s) * (variance_a / size_a + variance_b / size_b));
}

static struct potts_segment joined(const struct segmentation *s, const struct potts_segment *a,
                                   const struct potts_segment *b)
{
    double size_a = (double)(a->end - a->first), size_b = (double)(b->end - b->first);
    struct potts_segment both = {a->first, b->end,
                                 (a->level * size_a + b->level * size_b) / (size_a + size_b)};
    for (int i = 0; i < 10; i++) // to the clipped mean's fixed point
        both.level = clipped_mean(s, &both);
    return both;
}

static void drop_weak(struct segmentation *s)
{
    double threshold = segmentation_widen(s, s->penalty);
    while (s->count > 1) {
        size_t weakest = 0;
        double least = INFINITY;
        for (size_t j = 0; j + 1 < s->count; j++) {
            double score = segmentation_score(s, j);
            if (score < least) {
                least = score;
                weakest = j;
            }
        }
        if (least >= threshold)
            return;
        struct potts_segment *segment = &s->segments[weakest];
        segment[0] = joined(s, &segment[0], &segment[1]);
        memmove(segment + 1, segment + 2, (s->count - weakest - 2) * sizeof(*segment));
        s->count--;
    }
}

void segmentation_find(struct segmentation *out, const double *values, size_t n, double penalty,
                       double bound)
{
    *out = (struct segmentation){.penalty = penalty, .bound = bound, .variance = 0};
    load(out, values, n);
    if (!normalise(out))
        return;
    if (out->n <= SHORT)
        bound_correlation(out);
    fit(out);
    drop_weak(out);
}

void segmentation_free(struct segmentation *segmentation)
{
    free(segmentation->y);
    free(segmentation->where);
    free(segmentation->segments);
    memset(segmentation, 0, sizeof(*segmentation));
}
