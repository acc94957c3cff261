// SPDX-License-Identifier: Apache-2.0
//
// Robust statistics: medians, scales, trimmed means, pooled means; and the normal
// and beta distributions.
#include "model/robust.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUN = 12 }; // runs of so many values are sorted by insertion

static void insert_each(double *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const double value = values[i];
        size_t at = i;
        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

// Merges two neighbouring sorted runs, values[first..middle) and values[middle..end); `room` holds
// the left one meanwhile.
static void merge(double *values, size_t first, size_t middle, size_t end, double *room)
{
    const size_t left = middle - first;
    size_t a = 0, b = middle, at = first;
    memcpy(room, values + first, left * sizeof(*room));
    while (a < left && b < end) {
        const bool right = values[b] < room[a];
        values[at++] = right ? values[b] : room[a];
        b += right;
        a += !right;
    }
    memcpy(values + at, room + a, (left - a) * sizeof(*room));
}

// A merge sort of our own: histories are sorted by the thousand, and qsort() calls a function
// for every comparison.
void robust_sort(double *values, size_t count)
{
    for (size_t first = 0; first < count; first += RUN)
        insert_each(values + first, count - first < RUN ? count - first : RUN);
    if (count <= RUN)
        return;
    double *room = xcalloc(count, sizeof(*room));
    for (size_t size = RUN; size < count; size *= 2) {
        for (size_t first = 0; first + size < count; first += 2 * size)
            merge(values, first, first + size, first + 2 * size < count ? first + 2 * size : count,
                  room);
    }
    free(room);
}

double robust_median(double *work, size_t count)
{
    if (count == 0)
        return NAN;
    robust_sort(work, count);
    return 0.5 * (work[(count - 1) / 2] + work[count / 2]);
}

double robust_sd(double *work, size_t count)
{
    double centre = robust_median(work, count);
    for (size_t i = 0; i < count; i++)
        work[i] = fabs(work[i] - centre);
    return 1.4826 * robust_median(work, count);
}

// The standard error of a trimmed mean is the SD of the winsorized values / ((1 - 2 cut/n) sqrt n).
struct robust_mean robust_mean(double *work, size_t count)
{
    if (count == 0)
        return (struct robust_mean){NAN, INFINITY};
    robust_sort(work, count);
    size_t cut = count / 10, kept = count - 2 * cut;
    double n = (double)count, trimmed = 0, mean = 0, squares = 0;
    for (size_t i = cut; i < count - cut; i++)
        trimmed += work[i] / (double)kept;
    if (count < 2)
        return (struct robust_mean){trimmed, INFINITY};
    for (size_t i = 0; i < count; i++)
        mean += fmin(fmax(work[i], work[cut]), work[count - 1 - cut]) / n;
    for (size_t i = 0; i < count; i++) {
        double off = fmin(fmax(work[i], work[cut]), work[count - 1 - cut]) - mean;
        squares += off * off;
    }
    return (struct robust_mean){trimmed, sqrt(squares / (n - 1) * n) / (double)kept};
}

double moderate_sd(struct moderation prior, double sd, double degrees)
{
    if (isinf(prior.weight))
        return prior.sd;
    double total = prior.weight + degrees;
    if (total <= 0)
        return prior.sd;
    return sqrt((prior.weight * prior.sd * prior.sd + degrees * sd * sd) / total);
}

// The variance between studies is between^2 = max(0, (Q - (k-1)) / (sum w - sum w^2 / sum w)),
// where w = 1/se^2 and Q is the weighted sum of squares.
struct pooled pool_random_effects(const double *mean, const double *se, size_t count)
{
    assert(count >= 1);
    double weights = 0, squares = 0, sum = 0, q = 0;
    for (size_t i = 0; i < count; i++) {
        double w = 1 / (se[i] * se[i]);
        weights += w;
        squares += w * w;
        sum += w * mean[i];
    }
    double fixed = sum / weights;
    for (size_t i = 0; i < count; i++)
        q += (mean[i] - fixed) * (mean[i] - fixed) / (se[i] * se[i]);
    double spread = weights - squares / weights;
    double between2 = count > 1 ? fmax(0, (q - (double)(count - 1)) / spread) : 0;
    weights = sum = 0;
    for (size_t i = 0; i < count; i++) {
        double w = 1 / (se[i] * se[i] + between2);
        weights += w;
        sum += w * mean[i];
    }
    return (struct pooled){sum / weights, sqrt(1 / weights), sqrt(between2)};
}

double normal_cdf(double z)
{
    return 0.5 * erfc(-z * M_SQRT1_2);
}

double normal_quantile(double p)
{
    assert(p > 0 && p < 1);
    if (p > 0.5)
        return -normal_quantile(1 - p);
    double low = -40, high = 0.1;
    for (int i = 0; i < 100; i++) {
        double middle = 0.5 * (low + high);
        if (normal_cdf(middle) < p)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

// The continued fraction of I_x (Abramowitz and Stegun 26.5.8), evaluated by Lentz's method; it
// converges fast for x below (a+1)/(a+b+2), and I_x(a,b) = 1 - I_1-x(b,a) gives the rest.
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double change = 1;
        for (int half = 0; half < 2; half++) {
            double term = half ? odd : even;
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            change = c * d;
            value *= change;
        }
        if (fabs(change - 1) < 1e-15)
            break;
    }
    return value;
}

double incomplete_beta(double a, double b, double x)
{
    assert(a > 0 && b > 0 && x >= 0 && x <= 1);
    if (x <= 0 || x >= 1)
        return x;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}
