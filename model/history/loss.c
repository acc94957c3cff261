// SPDX-License-Identifier: Apache-2.0
//
// Moving the level by m gains a value x (about the old level) the cost
//
//     g_m(x) = min(x^2, K^2) - min((x - m)^2, K^2).
//
// Without a change its mean is negative, and the largest sum of it over any stretch of a long
// series exceeds G with a probability that falls as exp(-theta G), where theta > 0 solves
//
//     E exp(theta g_m(X)) = 1
//
// (Cramer and Lundberg; Asmussen and Albrecher, "Ruin Probabilities", 2010, chapter XIII: the
// maximum of a random walk with negative drift). So theta turns cost into nats of evidence. Normal
// noise gives 1 / (2 sigma^2) for every m as long as K is wide, and then this is the usual
// likelihood ratio; heavy tails and second modes give less for those m that a few stray values in a
// row would favour. The least over m is taken, E being the mean over the residuals.
//
// Where a new level is really m away, a value gains g_m(X + m) in the mean; theta times that is
// what it is worth in nats, and the bound that makes it largest is the most efficient one. m is one
// robust standard deviation, of either sign.
#include "model/history/loss.h"

#include "model/base.h"
#include "model/history/noise.h"

#include <math.h>

enum { SAMPLE = 256, PAIRED = 48, BOUNDS = 8, SHIFTS = 6, STRAYS = 12, ROUNDS = 40 };
static const double improvement = 1.1;
static const double least_shift = 0.15; // of the bound
static const double least_rate = 1e-4;  // of 1 / bound^2

// Quantiles that stand for all residuals.
struct quantiles {
    double x[SAMPLE];
    size_t count;
};

// Taken alike from both ends: a series upside down is the same series.
static void take(double *out, size_t count, const double *sorted, size_t n)
{
    for (size_t i = 0; i < count; i++) {
        size_t mirror = count - 1 - i, nearer = i < mirror ? i : mirror;
        size_t at = (2 * nearer + 1) * n / (2 * count);
        out[i] = sorted[i <= mirror ? at : n - 1 - at];
    }
}

static struct quantiles sample_of(const double *sorted, size_t n)
{
    struct quantiles out = {.count = n < SAMPLE ? n : SAMPLE};
    take(out.x, out.count, sorted, n);
    return out;
}

static double cost(double x, double bound)
{
    const double square = x * x, most = bound * bound; // fmin() is a call
    return square < most ? square : most;
}

// log E exp(theta g) and its derivative.
static double cumulant(double *slope, const double *g, size_t n, double most, double theta)
{
    double sum = 0, first = 0;
    for (size_t i = 0; i < n; i++) {
        double e = exp(theta * (g[i] - most)); // at most 1
        sum += e;
        first += e * g[i];
    }
    *slope = first / sum;
    return theta * most + log(sum / (double)n);
}

// Newton's method from the right, where the cumulant is positive and convex: it comes down to the
// root without passing it. `enough`: larger ones are not of interest.
static double exponent(const double *g, size_t n, double enough)
{
    double most = 0, mean = 0, slope;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, g[i]);
        mean += g[i];
    }
    if (mean >= 0)
        return 0;
    double theta = enough;
    if (most <= 0 || cumulant(&slope, g, n, most, theta) <= 0)
        return enough;
    for (int i = 0; i < ROUNDS; i++) {
        double step = cumulant(&slope, g, n, most, theta) / slope;
        if (!(slope > 0) || step < 1e-3 * theta)
            break;
        theta -= step;
    }
    return fmax(theta, 0);
}

static double rate_of_shift(const struct quantiles *s, double bound, double m, double enough)
{
    double g[SAMPLE];
    for (size_t i = 0; i < s->count; i++)
        g[i] = cost(s->x[i], bound) - cost(s->x[i] - m, bound);
    return exponent(g, s->count, enough);
}

static double rate_of(const struct quantiles *s, double bound)
{
    const double shifts[SHIFTS] = {least_shift, 0.3, 0.6, 1, 1.5, 2};
    double floor = least_rate / (bound * bound), squares = 0, inside = 0;
    for (size_t i = 0; i < s->count; i++) {
        double c = cost(s->x[i], bound);
        squares += c;
        inside += c < bound * bound;
    }
    // The limit m -> 0 without the density at the bound is the start.
    double rate = squares > 0 ? fmax(0.5 * (double)s->count / squares, floor) : 1e300;
    for (size_t k = 0; k < SHIFTS; k++) {
        rate = rate_of_shift(s, bound, shifts[k] * bound, rate);
        rate = rate_of_shift(s, bound, -shifts[k] * bound, rate);
    }
    // Further away only values beyond the bound gain.
    double strays[STRAYS];
    size_t few = s->count < STRAYS ? s->count : STRAYS;
    take(strays, few, s->x, s->count);
    for (size_t k = 0; k < few && inside < (double)s->count; k++) {
        if (fabs(strays[k]) > 2 * bound)
            rate = rate_of_shift(s, bound, strays[k], rate);
    }
    return fmax(rate, floor);
}

// Nats per value when the level has moved by one robust standard deviation.
static double worth(const struct quantiles *s, struct loss loss, double m)
{
    double gain = 0;
    for (size_t i = 0; i < s->count; i++) {
        double x = s->x[i], stay = cost(x, loss.bound);
        gain += cost(x + m, loss.bound) + cost(x - m, loss.bound) - 2 * stay;
    }
    return loss.rate * gain;
}

// As model/history/noise.h estimates it from differences, here of values that cannot be correlated.
static double scale_of(const struct quantiles *s)
{
    double gaps[PAIRED * (PAIRED - 1) / 2];
    double few[PAIRED];
    size_t paired = s->count < PAIRED ? s->count : PAIRED, count = 0;
    take(few, paired, s->x, s->count);
    for (size_t i = 0; i < paired; i++) {
        for (size_t k = 0; k < i; k++)
            gaps[count++] = few[i] - few[k];
    }
    return noise_scale(gaps, count) * M_SQRT1_2;
}

// About the level that costs least under this bound, where that is so far away that the smallest
// shift would gain by itself: g would have a positive mean, and no rate. So it is with values on a
// coarse grid, when a second step of it comes inside the bound.
static struct quantiles centred(const struct quantiles *s, double bound)
{
    struct quantiles out = *s;
    double level = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double sum = 0, count = 0, before = level;
        for (size_t i = 0; i < s->count; i++) {
            const bool inside = fabs(s->x[i] - level) < bound;
            sum += inside ? s->x[i] : 0;
            count += inside;
        }
        level = count > 0 ? sum / count : level;
        if (fabs(level - before) <= 1e-6 * bound)
            break;
    }
    for (size_t i = 0; i < s->count && fabs(level) > 0.5 * least_shift * bound; i++)
        out.x[i] -= level;
    return out;
}

static double fit_bound(struct loss *loss, const struct quantiles *residuals, double spread)
{
    const struct quantiles s = centred(residuals, loss->bound);
    loss->rate = rate_of(&s, loss->bound);
    return worth(&s, *loss, spread);
}

struct loss loss_fit(const double *sorted, size_t n, double widest)
{
    struct quantiles s = sample_of(sorted, n);
    double spread = 0.7413 * (sorted[n - 1 - n / 4] - sorted[n / 4]);
    struct loss loss = {.scale = scale_of(&s)};
    if (!(loss.scale > 0))
        return loss;
    loss.bound = widest * loss.scale;
    double most = improvement * fit_bound(&loss, &s, spread);
    struct loss best = loss;
    for (int i = 1; i < BOUNDS && loss.bound > spread; i++) {
        loss.bound *= 0.75;
        double now = fit_bound(&loss, &s, spread);
        if (now > most) {
            most = now;
            best = loss;
        }
    }
    return best;
}
