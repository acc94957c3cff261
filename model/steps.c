// SPDX-License-Identifier: Apache-2.0
#include "model/steps.h"

#include "model/base.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double mean(const double *values, const struct potts_segment *segment)
{
    double sum = 0;
    for (size_t i = segment->first; i < segment->end; i++)
        sum += values[i];
    return sum / (double)(segment->end - segment->first);
}

struct steps_fit steps_fit(const double *values, size_t n, const struct potts_segment *segments,
                           size_t count)
{
    assert(n >= 2);
    double *residual = xcalloc(n, sizeof(*residual));
    for (size_t j = 0; j < count; j++) {
        double level = mean(values, &segments[j]);
        for (size_t i = segments[j].first; i < segments[j].end; i++)
            residual[i] = values[i] - level;
    }
    double cross = 0, squares = 0, sum = 0, degrees = (double)n - 1;
    for (size_t i = 1; i < n; i++) {
        cross += residual[i] * residual[i - 1];
        squares += residual[i - 1] * residual[i - 1];
    }
    double r = squares > 0 ? fmax(-0.999, fmin(0.999, cross / squares)) : 0;
    for (size_t i = 1; i < n; i++)
        sum += pow(residual[i] - r * residual[i - 1], 2);
    free(residual);
    // The floor is for series without any noise, whose likelihood has no bound.
    double fitted = -0.5 * degrees * (log(fmax(sum / degrees, 1e-300)) + 1);
    return (struct steps_fit){fitted, r, squares / degrees};
}

static size_t join(struct potts_segment *segments, size_t count, size_t j)
{
    segments[j].end = segments[j + 1].end;
    memmove(segments + j + 1, segments + j + 2, (count - j - 2) * sizeof(*segments));
    return count - 1;
}

size_t steps_prune(struct steps_fit *fit, const double *values, size_t n,
                   struct potts_segment *segments, size_t count, double cost)
{
    struct potts_segment *without = xcalloc(count, sizeof(*without));
    *fit = steps_fit(values, n, segments, count);
    while (count > 1) {
        struct steps_fit best = {-INFINITY, 0, 0};
        size_t weakest = 0;
        for (size_t j = 0; j + 1 < count; j++) {
            memcpy(without, segments, count * sizeof(*segments));
            struct steps_fit less = steps_fit(values, n, without, join(without, count, j));
            if (less.log_likelihood > best.log_likelihood) {
                best = less;
                weakest = j;
            }
        }
        if (fit->log_likelihood - best.log_likelihood > cost)
            break;
        count = join(segments, count, weakest);
        *fit = best;
    }
    for (size_t j = 0; j < count; j++)
        segments[j].level = mean(values, &segments[j]);
    free(without);
    return count;
}
