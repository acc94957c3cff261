// SPDX-License-Identifier: Apache-2.0
//
// A random walk in noise, fitted to a series by its likelihood:
//     y_t = level_t + noise_t,   level_t = level_{t-1} + step_t,   var(step) = ratio var(noise)
//
// The Kalman filter with a diffuse start gives innovations v_t of variance F_t (in units of the
// noise variance, which is thereby concentrated out of the likelihood); one dimension is left to
// maximise over. A level that starts afresh leaves the squares it would leave were the jump's size
// fitted; with the variances F_t of one start this is the likelihood of such jumps, comparable
// whatever their number. Smoothing backwards gives, for every t, the score test of a jump between t
// - 1 and t: r / sqrt(N), normal(0, 1) without one (Harvey and Koopman, "Diagnostic checking of
// unobserved- components time series models", 1992; Durbin and Koopman, "Time Series Analysis by
// State Space Methods", 2012, section 7.5).
#include "model/history/local_level.h"

#include "model/base.h"
#include "model/history/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    AROUND = 25,    // innovations on each side that show how loud the series is there
    PROMISING = 16, // squared statistic from which that is looked at
};

// Innovations of one pass; variance[t] 0 marks a start, which has none.
struct filter {
    double *innovation, *variance, *gain;
};

static void filter_run(struct filter *f, const double *values, const unsigned char *starts,
                       size_t n, double ratio)
{
    double level = 0, spread = 0;
    for (size_t t = 0; t < n; t++) {
        if (t == 0 || (starts && starts[t])) {
            level = values[t];
            spread = 1 + ratio;
            f->innovation[t] = f->variance[t] = 0;
            f->gain[t] = 1;
            continue;
        }
        f->innovation[t] = values[t] - level;
        f->variance[t] = spread + 1;
        f->gain[t] = spread / (spread + 1);
        level += f->gain[t] * f->innovation[t];
        spread = spread * (1 - f->gain[t]) + ratio;
    }
}

static double likelihood(struct filter *f, const double *values, const unsigned char *starts,
                         size_t n, double ratio, double *variance)
{
    filter_run(f, values, starts, n, ratio);
    double squares = 0, logs = 0, count = (double)n - 1, spread = 1 + ratio;
    for (size_t t = 1; t < n; t++) {
        logs += log(spread + 1);
        spread = spread / (spread + 1) + ratio;
        if (f->variance[t] > 0)
            squares += f->innovation[t] * f->innovation[t] / f->variance[t];
    }
    *variance = count > 0 ? squares / count : 0;
    return -0.5 * (count * log(fmax(*variance, 1e-300)) + logs + count);
}

static struct filter filter_new(size_t n)
{
    double *memory = xcalloc(3 * n, sizeof(*memory));
    return (struct filter){memory, memory + n, memory + 2 * n};
}

// Golden section over log(ratio): the likelihood has one maximum but for pathological series.
static struct local_level fit(struct filter *f, const double *values, const unsigned char *starts,
                              size_t n)
{
    const double golden = 0.6180339887498949;
    double low = log(1e-7), high = log(1e4), unused;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double at_a = likelihood(f, values, starts, n, exp(a), &unused);
    double at_b = likelihood(f, values, starts, n, exp(b), &unused);
    while (high - low > 0.1) {
        if (at_a > at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - golden * (high - low);
            at_a = likelihood(f, values, starts, n, exp(a), &unused);
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + golden * (high - low);
            at_b = likelihood(f, values, starts, n, exp(b), &unused);
        }
    }
    struct local_level model = {0, exp(0.5 * (low + high)), 0};
    model.log_likelihood =
        likelihood(f, values, starts, n, model.walk_ratio, &model.noise_variance);
    return model;
}

struct local_level local_level_fit(const double *values, const unsigned char *starts, size_t n)
{
    struct filter f = filter_new(n);
    struct local_level model = fit(&f, values, starts, n);
    free(f.innovation);
    return model;
}

// Robust scale of the standardised innovations around t (all of them where `reach` is n): jumps not
// yet found must not hide themselves, nor loud stretches pass for a row of jumps.
static double innovation_scale(const struct filter *f, size_t n, size_t t, size_t reach,
                               double *scratch)
{
    size_t first = t < reach ? 0 : t - reach, end = n - t > reach ? t + reach + 1 : n, count = 0;
    for (size_t i = first; i < end; i++) {
        if (f->variance[i] > 0)
            scratch[count++] = fabs(f->innovation[i]) / sqrt(f->variance[i]);
    }
    return noise_scale(scratch, count);
}

static void scores_run(double *scores, struct filter *f, double *scratch, const double *values,
                       const unsigned char *starts, size_t n)
{
    memset(scores, 0, n * sizeof(*scores));
    struct local_level model = fit(f, values, starts, n); // leaves its last pass in `f`
    // Half the fitted deviation at least: where values repeat, the trimmed scale is near nothing.
    double scale = fmax(innovation_scale(f, n, 0, n, scratch), 0.5 * sqrt(model.noise_variance));
    if (!(scale > 0))
        return;
    double r = 0, weight = 0;
    for (size_t t = n; t-- > 0;) {
        if (f->variance[t] <= 0) { // a start: what comes after says nothing of what was before
            r = weight = 0;
            continue;
        }
        double keep = 1 - f->gain[t];
        r = f->innovation[t] / f->variance[t] + keep * r;
        weight = 1 / f->variance[t] + keep * keep * weight;
        scores[t] = r * r / (weight * scale * scale);
        if (scores[t] < PROMISING)
            continue;
        double around = innovation_scale(f, n, t, AROUND, scratch);
        if (around > scale)
            scores[t] *= scale * scale / (around * around);
    }
}

void local_level_scores(double *scores, const double *values, const unsigned char *starts, size_t n)
{
    struct filter f = filter_new(n);
    double *scratch = xcalloc(n, sizeof(*scratch));
    scores_run(scores, &f, scratch, values, starts, n);
    free(scratch);
    free(f.innovation);
}

size_t local_level_jumps(unsigned char *starts, const double *values, size_t n, double threshold,
                         size_t most)
{
    struct filter f = filter_new(n);
    double *scratch = xcalloc(n, sizeof(*scratch));
    double *scores = xcalloc(n, sizeof(*scores));
    memset(starts, 0, n);
    size_t found = 0;
    while (found < most) {
        scores_run(scores, &f, scratch, values, starts, n);
        size_t best = 0;
        for (size_t t = 1; t < n; t++) {
            if (scores[t] > scores[best])
                best = t;
        }
        if (scores[best] <= threshold * threshold)
            break;
        starts[best] = 1;
        found++;
    }
    free(scores);
    free(scratch);
    free(f.innovation);
    return found;
}
