// SPDX-License-Identifier: Apache-2.0
//
// A level of its own that returns to 0, seen through independent noise:
//
//     y_t = a_t + e_t,   a_t = fade a_{t-1} + step_t,   var(a) = share var(y),
//
// whose autocorrelation at lag k is share fade^k: an ARMA(1, 1). Times on a device look like this:
// slow conditions (clock, temperature, placement) under the scatter of one run. An AR(1) alone
// cannot have both a small correlation from one value to the next and a long memory, and a step is
// then the cheaper explanation of what only wandered for a while.
//
// The Kalman filter gives innovations v_t of variance F_t in units of var(y), which is thereby
// concentrated out (model/history/local_level.h does the same for fade = 1). Its gains depend on
// fade and share alone, so that a grid of both is filtered side by side. An AR(1) (share 1) is
// fitted by least squares beside it.
#include "model/history/memory.h"

#include "model/base.h"

#include <assert.h>
#include <math.h>

enum { FADES = 4, SHARES = 6, GRID = FADES * SHARES, SETTLED = 40 };
static const double fades[FADES] = {0.5, 0.7, 0.8, 0.9};
static const double shares[SHARES] = {0.15, 0.3, 0.45, 0.6, 0.75, 0.9};

// One filter for every point of the grid.
struct filters {
    double level[GRID];    // a, expected from what came before
    double variance[GRID]; // of it
    double keep[GRID], gain[GRID], weight[GRID];
    double squares[GRID]; // sum of v^2 / F
    double product[GRID]; // of 1 / F, of the first values
};

static void start(struct filters *f)
{
    for (int k = 0; k < GRID; k++) {
        f->level[k] = f->squares[k] = 0;
        f->variance[k] = shares[k % SHARES];
        f->product[k] = 1;
    }
}

// Gains of the next value.
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

// The first value only says where the level begins. Gains settle soon, and then they stay.
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
