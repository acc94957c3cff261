// SPDX-License-Identifier: Apache-2.0
//
// Finds a pattern that recurs. Each value is compared with the mean of one whole period around it.
// That mean contains no pattern of this period, so steps and slow levels do not matter ("ratio to
// moving average", Macaulay 1931). Then the values at each place of the period either have a mean
// of their own or not: for m values and P places the likelihood ratio is
//     m / 2 log(all squares / squares about the means of the places),
// and each place costs log(m) / 2 (Schwarz 1978). Strays count as three deviations. All
// periods up to two weeks are tried that occurred at least four times; the pattern must gain
// more than it costs.
#include "model/history/changepoint.h"

#include "model/base.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 14, SEEN = 4 };
static const double least_nats = 14, stray = 3;

// The value less the mean of one period around it. The ends of an even period count half. NaN if a
// value is missing.
static double against_period(const double *values, size_t n, size_t at, size_t period)
{
    const size_t half = period / 2;
    if (at < half || at + half >= n)
        return NAN;
    double sum = 0;
    for (size_t i = at - half; i <= at + half; i++)
        sum += values[i] * (period % 2 == 0 && (i == at - half || i == at + half) ? 0.5 : 1);
    return values[at] - sum / (double)period;
}

// Limits strays among the finite values, by their median absolute deviation. Returns the number
// of finite values.
static size_t tame(double *rest, size_t n)
{
    double *work = xcalloc(n, sizeof(*work));
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(rest[i]))
            work[count++] = rest[i];
    }
    const double reach = count ? stray * robust_sd(work, count) : 0;
    for (size_t i = 0; reach > 0 && i < n; i++) {
        if (isfinite(rest[i]))
            rest[i] = fmax(-reach, fmin(reach, rest[i]));
    }
    free(work);
    return count;
}

struct places {
    double mean[LONGEST]; // of each place; the mean over all places is 0
    double nats;
};

static struct places places_of(const double *values, size_t n, size_t period)
{
    struct places out = {{0}, -INFINITY};
    double *rest = xcalloc(n, sizeof(*rest)), number[LONGEST] = {0}, all = 0, within = 0,
           middle = 0;
    for (size_t i = 0; i < n; i++)
        rest[i] = against_period(values, n, i, period);
    const double count = (double)tame(rest, n);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(rest[i]))
            continue;
        out.mean[i % period] += rest[i];
        number[i % period]++;
        all += rest[i] * rest[i];
    }
    bool seen = all > 0;
    for (size_t p = 0; p < period; p++) {
        seen &= number[p] >= SEEN - 1;
        out.mean[p] /= fmax(number[p], 1);
        middle += out.mean[p] / (double)period;
    }
    for (size_t p = 0; p < period; p++)
        out.mean[p] -= middle;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(rest[i]))
            within += pow(rest[i] - out.mean[i % period], 2);
    }
    if (seen)
        out.nats = count / 2 * log(all / fmax(within, 1e-12 * all)) -
                   ((double)period - 1) / 2 * log(count);
    free(rest);
    return out;
}

static struct pattern find(struct places *best, const double *values, size_t n)
{
    struct pattern out = {0, 0};
    best->nats = least_nats;
    for (size_t period = 2; period <= LONGEST && period * SEEN <= n; period++) {
        const struct places now = places_of(values, n, period);
        if (now.nats > best->nats)
            *best = now, out.period = period;
    }
    double low = INFINITY, high = -INFINITY;
    for (size_t p = 0; p < out.period; p++)
        low = fmin(low, best->mean[p]), high = fmax(high, best->mean[p]);
    out.swing = out.period ? high - low : 0;
    return out;
}

struct pattern pattern_take_off(double *values, size_t n)
{
    struct places places;
    const struct pattern out = find(&places, values, n);
    for (size_t i = 0; out.period && i < n; i++)
        values[i] -= places.mean[i % out.period];
    return out;
}
