// SPDX-License-Identifier: Apache-2.0
//
// A bet that needs only symmetry.
//
// Let z be symmetric about c given everything before it. In a duet this holds by construction: if
// both builds are the same, swapping them inside a pair changes nothing but the sign of y, and a
// fair coin drew the order. Drift, bursts, two clock states, tails without a mean and correlation
// between pairs leave that coin fair. Write a = |z|.
//
// The bet with size b > 0 multiplies the wealth by
//     w(z) = 2 / (1 + exp(-2 b z)) = exp(b z) / cosh(b z).
//   c = 0: given a, both signs are equally likely, and w(a) + w(-a) = 2, so E[w | past] = 1
//   exactly. c < 0: w rises with z, so E[w | past] <= 1. The null "centre <= 0" is covered as a
//   whole.
// So wealth is a supermartingale for whatever scale was chosen before z came, and so is the mean
// over several bets; Ville: P(wealth ever >= 1/alpha) <= alpha.
//
// The closed form (S), exp(b z - b^2 z^2 / 2), is smaller for every z because cosh x <= exp(x^2/2):
// it loses wealth even to a large z of the right sign, where w doubles it. So a clear change is
// decided in about 20 pairs instead of 31 (test_eprocess).
//
// One stalled launch of the wrong sign costs 2 b |z| and would undo hundreds of pairs. So z is
// clipped at +-2, a limit known beforehand: an odd, rising function of z keeps both lines of the
// proof. For normal noise Huber's 2 costs 1 % of the pairs.
//
// Bets are a geometric ladder: the best size for a normal z with mean m is about m, and a neighbour
// a factor 1.4 off costs a few per cent of the growth. Five equal bets cost at most log 5 = 1.6
// nats, and make an error of the scale by a factor 3 harmless.
//
// The scale-free mixture (T) puts a normal prior of variance sigma^2 / g on the mean and integrates
// sigma out by its right Haar measure:
//     E = sqrt(g/(n+g)) [(1+q) / (1 + q g/(n+g))]^(n/2),   q = n mean^2 / sum (y - mean)^2,  g = 1.
// With AR(1) correlation .5 its chance of passing 1000 is 0.09 instead of 0.001: it is for medians
// of blocks and for display, and decides nothing.
#include "model/gate/gate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static const double bets[EPROCESS_BETS] = {0.2, 0.4, 0.8, 1.6, 3.2};

static const double clip = 2;

void eprocess_add(struct eprocess *process, double z)
{
    assert(isfinite(z));
    z = fmin(fmax(z, -clip), clip);
    for (int i = 0; i < EPROCESS_BETS; i++)
        process->log_wealth[i] += M_LN2 - log1p(exp(-2 * bets[i] * z));
}

double log_mean_exp(const double *log_e, size_t count)
{
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, log_e[i]);
    if (!isfinite(largest))
        return largest;
    for (size_t i = 0; i < count; i++)
        sum += isnan(log_e[i]) ? 0 : exp(log_e[i] - largest);
    return largest + log(sum / (double)count);
}

double eprocess_log(const struct eprocess *process)
{
    return log_mean_exp(process->log_wealth, EPROCESS_BETS);
}

void eprocess_join(struct eprocess *process, const struct eprocess *next)
{
    for (int i = 0; i < EPROCESS_BETS; i++)
        process->log_wealth[i] += next->log_wealth[i];
}

double eprocess_of(const double *y, const double *scale, size_t count, double centre, int side)
{
    struct eprocess process = {0};
    for (size_t i = 0; i < count; i++)
        eprocess_add(&process, side * (y[i] - centre) / scale[i]);
    return eprocess_log(&process);
}

// eprocess_of() falls monotonically as `centre` moves towards `side`, so a single root separates
// refuted from not refuted values.
double eprocess_bound(const double *y, const double *scale, size_t count, double log_limit,
                      int side)
{
    double unbounded = side > 0 ? -INFINITY : INFINITY;
    assert(log_limit > 0);
    if ((double)count * M_LN2 <= log_limit)
        return unbounded;
    double kept = y[0], widest = scale[0]; // kept: a value beyond all data on `side`, which is
                                           // never refuted
    for (size_t i = 1; i < count; i++) {
        kept = side > 0 ? fmax(kept, y[i]) : fmin(kept, y[i]);
        widest = fmax(widest, scale[i]);
    }
    double step = widest, refuted = kept - side * step;
    while (eprocess_of(y, scale, count, refuted, side) < log_limit) {
        kept = refuted;
        step *= 2;
        refuted -= side * step;
        if (step > 1e6 * widest + 1e6) // the last bit of n log 2 can never be reached
            return unbounded;
    }
    for (int i = 0; i < 60 && fabs(kept - refuted) > 1e-8; i++) {
        double middle = 0.5 * (kept + refuted);
        if (eprocess_of(y, scale, count, middle, side) < log_limit)
            kept = middle;
        else
            refuted = middle;
    }
    return refuted;
}

double eprocess_scale_free(const double *values, size_t count)
{
    if (count < 2)
        return 0;
    double n = (double)count, mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        mean += values[i] / n;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    double shrink = 1 / (n + 1);
    if (mean == 0)
        return 0.5 * log(shrink);
    // (1+q)/(1+q s) with q = signal/squares, in a form whose limit for squares = 0 is 1/s.
    double signal = n * mean * mean;
    return 0.5 * log(shrink) + 0.5 * n * log((squares + signal) / (squares + signal * shrink));
}

static int falling(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a < b) - (a > b);
}

size_t ebh(bool *rejected, const double *log_e, size_t count, double q)
{
    double *sorted = xcalloc(count, sizeof(*sorted));
    for (size_t i = 0; i < count; i++)
        sorted[i] = isnan(log_e[i]) ? -INFINITY : log_e[i];
    qsort(sorted, count, sizeof(*sorted), falling);
    size_t kept = 0;
    for (size_t k = 1; k <= count; k++) {
        if (sorted[k - 1] >= log((double)count / (q * (double)k)))
            kept = k;
    }
    // A value tied with the k-th also passes the lower limit of k + 1, so ties are never split.
    double limit = kept ? sorted[kept - 1] : INFINITY;
    for (size_t i = 0; i < count; i++)
        rejected[i] = kept && log_e[i] >= limit;
    free(sorted);
    return kept;
}
