// SPDX-License-Identifier: Apache-2.0
//
// Noise from differences. For a stationary series, differences at lag k have the variance 2 sigma^2
// (1 - r_k). For AR(1), r_2 = r_1^2, so lag 2 over lag 1 is 1 + r, whatever sigma is. A level shift
// touches only k of the n - k differences, and an outlier two; so trimmed scales of differences
// show the noise alone (Chakar, Lebarbier, Levy-Leduc and Robin, "A robust approach for estimating
// change-points in the mean of an AR(1) process", Bernoulli 2017, who take medians). A random walk
// gives r = 1.
#include "model/history/segmentation.h"

#include "model/base.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>

// The scale if more than half of the sorted deviations are 0. A trimmed mean would then be near 0,
// however often the others occur. Their root mean square is the scatter of a value that flickers
// between two levels. Each is capped at three times the smaller ones, so that one very large
// deviation does not hide all others.
static double sparse_scale(const double *sorted, size_t n)
{
    size_t zeros = n / 2;
    while (zeros < n && sorted[zeros] <= 0)
        zeros++;
    if (zeros == n)
        return 0;
    double cap = 3 * sorted[zeros + (n - zeros) / 4], squares = 0;
    for (size_t i = zeros; i < n; i++)
        squares += pow(fmin(sorted[i], cap) / cap, 2);
    return cap * sqrt(squares / (double)n);
}

double noise_scale(double *deviations, size_t n)
{
    static const double kept = 0.75;
    static const double consistency = 0.51491; // E(|z| ; |z| < q) / kept, P(|z| < q) = kept
    if (n == 0)
        return 0;
    robust_sort(deviations, n);
    if (deviations[n / 2] <= 0)
        return sparse_scale(deviations, n);
    double share = kept * (double)n, whole = floor(share), sum = 0;
    size_t k = (size_t)whole;
    for (size_t i = 0; i < k; i++)
        sum += deviations[i];
    sum += (share - whole) * deviations[k];
    return sum / (share * consistency);
}

struct lag {
    double scale; // scale of one value, from differences at this lag: sigma sqrt(1 - r)
    bool repeats; // more than half of the differences are 0
};

static struct lag lag_scale(const double *values, size_t n, size_t lag, double *scratch)
{
    for (size_t i = 0; i + lag < n; i++)
        scratch[i] = fabs(values[i + lag] - values[i]);
    struct lag out = {noise_scale(scratch, n - lag) * M_SQRT1_2, false};
    out.repeats = scratch[(n - lag) / 2] <= 0; // they are sorted by now
    return out;
}

struct series_noise noise_estimate(const double *values, size_t n)
{
    struct series_noise noise = {0, 0};
    if (n < 2)
        return noise;
    double *scratch = xcalloc(n, sizeof(*scratch));
    struct lag near = lag_scale(values, n, 1, scratch);
    noise.sigma = near.scale;
    // If most values repeat, the scale is the size of the rare differences, and
    // ratios mean nothing.
    if (n > 2 && near.scale > 0 && !near.repeats) {
        struct lag far = lag_scale(values, n, 2, scratch);
        double ratio = far.scale / near.scale;
        noise.correlation = fmin(fmax(ratio * ratio - 1, 0), 1);
        if (noise.correlation < 1)
            noise.sigma /= sqrt(1 - noise.correlation);
    }
    free(scratch);
    return noise;
}

double noise_inflation(double correlation)
{
    return (1 + correlation) / (1 - correlation);
}
