// SPDX-License-Identifier: Apache-2.0
//
// The set is a credible one. With the first new value at k, let a values before and b values after
// have squares A and B about their means. Means have a flat prior; each side has a variance of its
// own, about that of both together with the weight of so many values (PRIOR): sides may differ, and
// one or two values say nothing of their own scatter. Then
//     p(k) ~ product over sides of  Gamma((PRIOR + n - 1) / 2) n^-1/2 (PRIOR s^2 + S)^-(PRIOR + n -
//     1)/2
// and the logarithm is divided by the inflation by memory. The set grows from the index that was
// reported until it holds the confidence. Values further than REACH standard deviations from their
// side's median count as that far: one stray must not name the commit.
//
// The size is the mixture over k of the differences of means, each with its error by the sides' own
// scatter; so it knows that it does not know k.
//
// Memory is that of the residuals about the split that was reported: their lag 1, made larger by
// its bias (Kendall 1954, as in segmentation.c) and by one and a half standard errors, since what
// it is divided by must not be too little.
#include "model/history/change_set.h"

#include "model/history/noise.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PRIOR = 4, REACH = 4 };
// The statistic that is reported at least: 11 nats (changepoint_looks.c).
static const double reported = 4.69;
static const double hardly = 0.01; // of such sizes so many are reported
// What is reported looks clearer than it is, by where it is as well: a set holds all but this part
// of what is left. Found by tests/measure/bench_sets.c: with 1 it holds .81 of steps of 2 SD in 60
// values, with 2 at least .96 wherever a tenth of steps are found.
static const double selected = 2;

struct sums {
    double *sum, *square; // of the first i values
};

static double squares_of(const struct sums *s, size_t first, size_t end, double *mean)
{
    const double n = (double)(end - first), sum = s->sum[end] - s->sum[first];
    *mean = n > 0 ? sum / n : 0;
    return n > 0 ? fmax(0, s->square[end] - s->square[first] - sum * sum / n) : 0;
}

// Brings strays within reach of their side's median. What many values do is no stray: reach goes by
// the mean distance, so that a second mode stays where it is.
static void tame(double *y, size_t n)
{
    double *work = xcalloc(n, sizeof(*work)), away = 0;
    memcpy(work, y, n * sizeof(*work));
    const double median = robust_median(work, n);
    for (size_t i = 0; i < n; i++)
        away += fabs(y[i] - median) / (double)n;
    const double reach = REACH * sqrt(M_PI / 2) * away; // of normal values so many deviations
    for (size_t i = 0; i < n; i++)
        y[i] = fmax(median - reach, fmin(median + reach, y[i]));
    free(work);
}

// By how much memory grows the variance of a mean.
static double inflation_of(const double *y, size_t n, size_t at, double mean_a, double mean_b)
{
    double cross = 0, squares = 0, before = 0;
    for (size_t i = 0; i < n; i++) {
        const double r = y[i] - (i < at ? mean_a : mean_b);
        cross += i == at ? 0 : r * before;
        squares += r * r;
        before = r;
    }
    const double r = squares > 0 ? cross / squares : 0, all = (double)n;
    const double most = r + 2 * (1 + 4 * fmax(r, 0)) / all + 1.5 / sqrt(all);
    return noise_inflation(fmin(fmax(most, 0), 0.9));
}

struct side_fit {
    double log_mass, mean, variance; // of the mean
};

static struct side_fit side_fit(const struct sums *s, size_t first, size_t end, double prior)
{
    struct side_fit out;
    const double n = (double)(end - first), square = squares_of(s, first, end, &out.mean);
    const double freedom = PRIOR + n - 1;
    out.log_mass =
        lgamma(freedom / 2) - log(n) / 2 - freedom / 2 * log((PRIOR * prior + square) / 2);
    out.variance = (PRIOR * prior + square) / freedom / n;
    return out;
}

// Grows from `best` to the likelier side until it holds the confidence.
static void grow(size_t *low, size_t *high, const double *mass, size_t n, size_t best,
                 double confidence)
{
    double held = mass[best];
    *low = *high = best;
    while (held < confidence && (*low > 1 || *high + 1 < n)) {
        const double left = *low > 1 ? mass[*low - 1] : -1;
        const double right = *high + 1 < n ? mass[*high + 1] : -1;
        held += left > right ? mass[--*low] : mass[++*high];
    }
}

// Of Student's t, from the normal's as a likelihood's interval widens with the scale fitted.
static double student_reach(double confidence, double freedom)
{
    const double normal = normal_quantile(0.5 + 0.5 * confidence);
    return sqrt(freedom * expm1(normal * normal / freedom));
}

// The end of the size towards 0, as a share of it. A change is reported because it looks large, so
// what is seen of a small one is more than it is ("winner's curse"; conditional likelihood as by
// Zhong and Prentice 2008). Given that the statistic exceeds what is reported at all, the end is
// the size that would show as much with the chance that is left. Of what is only just reported that
// is nothing at all; but a size of which one in a hundred would be reported explains no report, so
// that the end is no smaller than that.
static double least_of(double z, double freedom, double confidence)
{
    z = sqrt(freedom * log1p(z * z / freedom)); // of a normal value as rare
    const double seen = fmax(z, reported), chance = 0.5 - 0.5 * confidence;
    double low = -seen, high = seen;
    for (int i = 0; i < 40; i++) {
        const double middle = (low + high) / 2;
        const double shown = erfc((seen - middle) * M_SQRT1_2);
        if (shown > chance * erfc((reported - middle) * M_SQRT1_2))
            high = middle;
        else
            low = middle;
    }
    return fmax(low, reported - normal_quantile(1 - hardly)) / seen;
}

struct set {
    double *y;
    size_t *where, n, at; // at: of the reported index
};

static void describe(struct change *change, const struct set *s, const struct sums *sums,
                     double inflation, double confidence)
{
    double mean_a, mean_b, *mass = xcalloc(s->n, sizeof(*mass)), most = -INFINITY, total = 0;
    double size = 0, square = 0;
    const double scatter =
        squares_of(sums, 0, s->at, &mean_a) + squares_of(sums, s->at, s->n, &mean_b);
    const double gap = mean_b - mean_a;
    // Without any scatter what remains is rounding.
    const double prior = fmax(scatter / fmax((double)s->n - 2, 1), 1e-18 * gap * gap);
    inflation = fmax(inflation, inflation_of(s->y, s->n, s->at, mean_a, mean_b));
    for (size_t k = 1; k < s->n; k++) {
        mass[k] = side_fit(sums, 0, k, prior).log_mass + side_fit(sums, k, s->n, prior).log_mass;
        mass[k] /= inflation;
        most = fmax(most, mass[k]);
    }
    for (size_t k = 1; k < s->n; k++)
        total += mass[k] = exp(mass[k] - most);
    for (size_t k = 1; k < s->n; k++) {
        const struct side_fit a = side_fit(sums, 0, k, prior), b = side_fit(sums, k, s->n, prior);
        const double d = b.mean - a.mean;
        mass[k] /= total;
        size += mass[k] * d;
        square += mass[k] * (d * d + inflation * (a.variance + b.variance));
    }
    size_t low, high;
    grow(&low, &high, mass, s->n, s->at, 1 - (1 - confidence) / selected);
    change->earliest = s->where[low];
    change->latest = s->where[high];
    const double fewer = (double)(s->at < s->n - s->at ? s->at : s->n - s->at);
    const double error = sqrt(fmax(square - size * size, 0)), freedom = fewer + PRIOR - 1;
    const double reach = student_reach(confidence, freedom) * error;
    const double far = size + (size > 0 ? reach : -reach);
    const double near = error > 0 ? size * least_of(fabs(size) / error, freedom, confidence) : size;
    change->size.low = fmin(change->size.value, fmin(near, far)) + 0.0; // never -0
    change->size.high = fmax(change->size.value, fmax(near, far)) + 0.0;
    free(mass);
}

void change_set(struct change *change, const double *values, size_t first, size_t end,
                double inflation, double confidence)
{
    struct set s = {xcalloc(end - first, sizeof(*s.y)), xcalloc(end - first, sizeof(*s.where)), 0,
                    0};
    for (size_t i = first; i < end; i++) {
        if (!isfinite(values[i]))
            continue;
        if (i < change->index)
            s.at = s.n + 1;
        // The middle of what was reported is taken off: sums of squares stay exact.
        s.y[s.n] = values[i] - change->before;
        s.where[s.n++] = i;
    }
    if (s.at > 0 && s.at < s.n) {
        struct sums sums = {xcalloc(s.n + 1, sizeof(double)), xcalloc(s.n + 1, sizeof(double))};
        tame(s.y, s.at);
        tame(s.y + s.at, s.n - s.at);
        for (size_t i = 0; i < s.n; i++) {
            sums.sum[i + 1] = sums.sum[i] + s.y[i];
            sums.square[i + 1] = sums.square[i] + s.y[i] * s.y[i];
        }
        describe(change, &s, &sums, inflation, confidence);
        free(sums.sum);
        free(sums.square);
    }
    free(s.y);
    free(s.where);
}

void change_set_all(struct changepoints *found, const double *values, size_t n, size_t calm,
                    double confidence)
{
    for (size_t i = 0; !found->drift && i < found->count; i++) {
        const size_t before = i ? found->changes[i - 1].index : 0;
        const size_t end = i + 1 < found->count ? found->changes[i + 1].index : n;
        const size_t first = before < calm && calm < found->changes[i].index ? calm : before;
        change_set(&found->changes[i], values, first, end, 1, confidence);
    }
}
