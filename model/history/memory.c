// SPDX-License-Identifier: Apache-2.0
//
// The likelihood of noise with memory. The noise is a level of its own that returns to 0, seen
// through independent noise:
//
//     y_t = a_t + e_t,   a_t = fade a_{t-1} + step_t,   var(a) = share var(y).
//
// Its autocorrelation at lag k is share fade^k: an ARMA(1, 1). Times on a device look like this:
// slow conditions (clock, temperature, placement) under the scatter of one run. An AR(1) alone
// cannot have both a small correlation from one value to the next and a long memory; then a step
// would be the cheaper explanation of values that only wandered for a while.
//
// The Kalman filter gives innovations v_t of variance F_t in units of var(y), which is thereby
// concentrated out (changepoint.c's local level does the same for fade = 1). Its gains depend only
// on fade and share, so a whole grid of both is filtered side by side. An AR(1) (share 1) is fitted
// by least squares in addition.
//
// memory_step() runs three series through each filter: the values, a constant level, and a step.
// The level has a flat prior, and the step a normal one of STEP standard deviations. Both are
// integrated out by the products of their innovations (generalised least squares). So the
// likelihoods with and without a step are of equally many values, however few these are, and a step
// pays for its size.
#include "model/history/segmentation.h"

#include "model/base.h"

#include <assert.h>
#include <math.h>

enum { FADES = 4, SHARES = 6, GRID = FADES * SHARES, SETTLED = 40 };
static const double fades[FADES] = {0.5, 0.7, 0.8, 0.9};
static const double shares[SHARES] = {0.15, 0.3, 0.45, 0.6, 0.75, 0.9};

// One filter for every point of the grid.
struct filters {
    double level[GRID];    // expected value of a, given the values before
    double variance[GRID]; // variance of that expectation
    double keep[GRID], gain[GRID], weight[GRID];
    double squares[GRID]; // sum of v^2 / F
    double product[GRID]; // product of 1 / F over the first values, before gains settle
};

static void start(struct filters *f)
{
    for (int k = 0; k < GRID; k++) {
        f->level[k] = f->squares[k] = 0;
        f->variance[k] = shares[k % SHARES];
        f->product[k] = 1;
    }
}

// Computes the gains for the next value.
static void advance(struct filters *f)
{
    for (int k = 0; k < GRID; k++) {
        double fade = fades[k / SHARES], share = shares[k % SHARES];
        double total = f->variance[k] + 1 - share, gain = f->variance[k] / total;
        f->weight[k] = 1 / total;
        f->keep[k] = fade * (1 - gain);
        f->gain[k] = fade * gain;
        f->variance[k] = fade * fade * f->variance[k] * (1 - gain) + share * (1 - fade * fade);
    }
}

static void observe(struct filters *f, double value)
{
    for (int k = 0; k < GRID; k++) {
        double v = value - f->level[k];
        f->squares[k] += v * v * f->weight[k];
        f->level[k] = f->keep[k] * f->level[k] + f->gain[k] * value;
    }
}

// The first value only says where the level begins. Gains settle after some values and
// are then kept.
static void run(struct filters *f, const double *residual, size_t n)
{
    start(f);
    for (size_t t = 0; t < n; t++) {
        if (t < SETTLED)
            advance(f);
        observe(f, residual[t]);
        for (int k = 0; t < SETTLED && k < GRID; k++) {
            f->squares[k] = t ? f->squares[k] : 0;
            f->product[k] *= t ? f->weight[k] : 1;
        }
    }
}

static double log_variances(const struct filters *f, int k, size_t n)
{
    double settled = n > SETTLED ? (double)(n - SETTLED) : 0;
    return -log(f->product[k]) - settled * log(f->weight[k]);
}

static double likelihood(double squares, double logs, double degrees)
{
    return -0.5 * (degrees * (log(fmax(squares / degrees, 1e-300)) + 1) + logs);
}

static double autoregression(const double *residual, size_t n)
{
    double cross = 0, squares = 0, sum = 0;
    for (size_t i = 1; i < n; i++) {
        cross += residual[i] * residual[i - 1];
        squares += residual[i - 1] * residual[i - 1];
    }
    double r = squares > 0 ? fmax(-0.999, fmin(0.999, cross / squares)) : 0;
    for (size_t i = 1; i < n; i++)
        sum += pow(residual[i] - r * residual[i - 1], 2);
    return likelihood(sum, 0, (double)n - 1);
}

double memory_fit(const double *residual, size_t n)
{
    assert(n >= 2);
    struct filters f;
    run(&f, residual, n);
    double best = autoregression(residual, n);
    for (int k = 0; k < GRID; k++)
        best = fmax(best, likelihood(f.squares[k], log_variances(&f, k, n), (double)n - 1));
    return best;
}

enum { STEP = 10 }; // standard deviations that a step may well have

// Sums over time of products of innovations, in units of their variances.
struct products {
    double yy, y1, yu, l1, lu, uu, logs; // values, a level of 1 and a step of 1
};

static struct products filter_three(const double *values, size_t n, size_t at, double fade,
                                    double share)
{
    struct products p = {0};
    double y = 0, level = 0, step = 0, variance = share; // expected value of each
    for (size_t i = 0; i < n; i++) {
        const double total = variance + 1 - share, gain = variance / total;
        const double vy = values[i] - y, v1 = 1 - level, vu = (at && i >= at ? 1 : 0) - step;
        p.yy += vy * vy / total, p.y1 += vy * v1 / total, p.yu += vy * vu / total;
        p.l1 += v1 * v1 / total, p.lu += v1 * vu / total, p.uu += vu * vu / total;
        p.logs += log(total);
        y = fade * (y + gain * vy);
        level = fade * (level + gain * v1);
        step = fade * (step + gain * vu);
        variance = fade * fade * variance * (1 - gain) + share * (1 - fade * fade);
    }
    return p;
}

static double marginal(const double *values, size_t n, size_t at, double fade, double share,
                       double louder)
{
    const struct products p = filter_three(values, n, at, fade, share);
    const double degrees = (double)n - 1, squares = fmax(p.yy - p.y1 * p.y1 / p.l1, 0);
    const double spread = 1 + STEP * STEP * (p.uu - p.lu * p.lu / p.l1);
    const double shift = p.yu - p.lu * p.y1 / p.l1;
    const double won = shift * shift * STEP * STEP / spread;
    const double left = fmax(squares - won, 1e-12 * squares);
    const double gain =
        degrees * log1p((squares - left) / fmax(left, 1e-300) / louder) - log(spread);
    return likelihood(squares, p.logs + log(p.l1), degrees) + (at ? gain / 2 : 0);
}

double memory_step(const double *values, size_t n, size_t at, double louder)
{
    const double alone = marginal(values, n, at, 0, 0, louder);
    double each[FADES][SHARES + 1], most = alone, sum = 0;
    for (int i = 0; i < FADES; i++) {
        for (int j = 0; j <= SHARES; j++) {
            each[i][j] = marginal(values, n, at, fades[i], j < SHARES ? shares[j] : 1, louder);
            most = fmax(most, each[i][j]);
        }
    }
    for (int i = 0; i < FADES; i++) {
        for (int j = 0; j <= SHARES; j++)
            sum += exp(each[i][j] - most) / (FADES * (SHARES + 1));
    }
    return at ? most + log((exp(alone - most) + sum) / 2) : most;
}
