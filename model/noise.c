// SPDX-License-Identifier: Apache-2.0
//
// Differences at lag k of a stationary series have variance 2 sigma^2 (1 - r_k). For AR(1), r_2 =
// r_1^2, so lag 2 over lag 1 is 1 + r whatever sigma is. A level shift touches k of the n - k
// differences and an outlier two, hence trimmed scales of them show the noise alone (Chakar,
// Lebarbier, Levy-Leduc and Robin, "A robust approach for estimating change-points in the mean of
// an AR(1) process", Bernoulli 2017, who take medians). A random walk gives r = 1.
#include "model/noise.h"

#include "model/base.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double noise_scale(double *deviations, size_t n)
{
    static const double kept = 0.75;
    static const double consistency = 0.51491; // E(|z| ; |z| < q) / kept, P(|z| < q) = kept
    if (n == 0)
        return 0;
    qsort(deviations, n, sizeof(*deviations), ascending);
    double share = kept * (double)n, whole = floor(share), sum = 0;
    size_t k = (size_t)whole;
    for (size_t i = 0; i < k; i++)
        sum += deviations[i];
    sum += (share - whole) * deviations[k];
    if (sum > 0)
        return sum / (share * consistency);
    while (k < n && deviations[k] <= 0)
        k++;
    if (k == n)
        return 0;
    return deviations[k] / normal_quantile(0.5 + 0.5 * ((double)k + 0.5) / (double)n);
}

struct lag {
    double scale; // of one value as differences at this lag show it: sigma sqrt(1 - r)
    bool repeats; // more than half of the differences are 0
};

static struct lag lag_scale(const double *values, size_t n, size_t lag, double *scratch)
{
    for (size_t i = 0; i + lag < n; i++)
        scratch[i] = fabs(values[i + lag] - values[i]);
    struct lag out = {noise_scale(scratch, n - lag) * M_SQRT1_2, false};
    out.repeats = scratch[(n - lag) / 2] <= 0; // sorted by now
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
    // Where most values repeat, a scale is the size of the rare differences; ratios mean nothing.
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
