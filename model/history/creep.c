// SPDX-License-Identifier: Apache-2.0
//
// A test for many small changes that add up, against the last accepted level. Single steps are
// found by changepoint.c.
#include "model/history/creep.h"

#include "model/base.h"
#include "model/history/noise.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>

struct creep creep_test(double epoch_level, double epoch_se, const double *values, size_t n,
                        double margin, double confidence)
{
    double *kept = xcalloc(n, sizeof(*kept));
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(values[i]))
            kept[count++] = values[i];
    }
    struct creep creep = {.size = {0, -INFINITY, INFINITY}};
    if (count >= 3) {
        struct series_noise noise = noise_estimate(kept, count);
        double inflation = noise_inflation(fmin(noise.correlation, 0.9));
        double variance = noise.sigma * noise.sigma * inflation / (double)count;
        double se = sqrt(variance + epoch_se * epoch_se);
        struct robust_mean robust = robust_mean(kept, count);
        double reach = se * normal_quantile(0.5 + 0.5 * confidence);
        creep.size = interval_about(robust.mean - epoch_level, reach);
        creep.moved = creep.size.low > margin || creep.size.high < -margin;
        double excess = fmax(fabs(creep.size.value) - margin, 0);
        creep.evidence = excess <= 0 ? 0 : se > 0 ? 0.5 * pow(excess / se, 2) : INFINITY;
    }
    free(kept);
    return creep;
}
