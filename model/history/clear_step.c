// SPDX-License-Identifier: Apache-2.0
//
// Separate sides: of n values with k on one side, chance alone sorts so one time in C(n, k); noise
// of two modes does so far more often, which is why the gap must be wider than modes lie apart, 10
// standard deviations, and in fewer than 20 values, whose scatter is vague, 13.5: of ten values in
// two modes 8 apart one series in a thousand comes so.
//
// Own noise: Welch's statistic at the split where it is largest, the variance of each mean grown by
// the memory that the residuals show at most. Six standard errors are 2e-9 for one split, so that
// the choice among thousands costs nothing; memory that could be a walk's is refused.
#include "model/history/clear_step.h"

#include "model/base.h"
#include "model/history/noise.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>

enum {
    LEAST_SIDE = 3,
    LEAST_OTHER = 5,
    FEW = 20,
    OWN_NOISE = 25, // values that show a noise of their own
    RUN = 5,
};
static const double apart = 10, apart_few = 13.5, errors = 6, most_memory = 0.5;
static const double step_share = 0.95; // of the squares that a line leaves: else it creeps

struct side {
    double mean, squares; // about it
    size_t count;
};

// Sums from the left, so that a split's sides take no time. `y` is moved to `centre` first.
struct sums {
    double *sum, *square, *low, *high; // of the first i values
    const double *y;
    double centre;
    size_t n;
};

static struct sums sums_of(const double *y, size_t n)
{
    struct sums s = {.y = y, .n = n};
    double *memory = xcalloc(4 * (n + 1), sizeof(*memory));
    s.sum = memory, s.square = memory + n + 1;
    s.low = memory + 2 * (n + 1), s.high = memory + 3 * (n + 1);
    for (size_t i = 0; i < n; i++)
        s.centre += y[i] / (double)n;
    s.low[0] = INFINITY, s.high[0] = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        const double z = y[i] - s.centre;
        s.sum[i + 1] = s.sum[i] + z;
        s.square[i + 1] = s.square[i] + z * z;
        s.low[i + 1] = fmin(s.low[i], y[i]);
        s.high[i + 1] = fmax(s.high[i], y[i]);
    }
    return s;
}

static struct side side_of(const struct sums *s, size_t first, size_t end)
{
    const double count = (double)(end - first), sum = s->sum[end] - s->sum[first];
    return (struct side){
        sum / count, fmax(0, s->square[end] - s->square[first] - sum * sum / count), end - first};
}

static double error_of(struct side a, struct side b, double grow_a, double grow_b)
{
    const double na = (double)a.count, nb = (double)b.count;
    return sqrt(a.squares * grow_a / (na - 1) / na + b.squares * grow_b / (nb - 1) / nb);
}

static bool wide_apart(const struct sums *s, size_t at, double low, double high)
{
    const struct side a = side_of(s, 0, at), b = side_of(s, at, s->n);
    const size_t fewer = a.count < b.count ? a.count : b.count;
    const double sigma = sqrt((a.squares + b.squares) / ((double)s->n - 2));
    const double times = s->n < FEW ? apart_few : apart;
    const double between = b.mean > a.mean ? low - s->high[at] : s->low[at] - high;
    return fewer >= LEAST_SIDE && s->n - fewer >= LEAST_OTHER &&
           fabs(b.mean - a.mean) > times * sigma && between > times / 2 * sigma;
}

// The split between sides that do not overlap; 0 if there is none so wide. `low` and `high` are of
// what lies right of the split.
static size_t separate(const struct sums *s)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t at = s->n - 1; at >= 1; at--) {
        low = fmin(low, s->y[at]);
        high = fmax(high, s->y[at]);
        if ((low > s->high[at] || high < s->low[at]) && wide_apart(s, at, low, high))
            return at;
    }
    return 0;
}

// Growth of the variance of a side's mean, by the largest memory that its residuals allow; 0:
// refused.
static double growth(const struct sums *s, size_t first, size_t end)
{
    const struct side side = side_of(s, first, end);
    double cross = 0;
    for (size_t i = first + 1; i < end; i++)
        cross += (s->y[i] - s->centre - side.mean) * (s->y[i - 1] - s->centre - side.mean);
    const double memory = side.squares > 0 ? cross / side.squares : 0;
    const double most = fmax(memory, 0) + 1 / sqrt((double)side.count);
    return memory > most_memory ? 0 : noise_inflation(fmin(most, 0.9));
}

// Squares about the line of least squares.
static double about_line(const struct sums *s)
{
    const double n = (double)s->n, middle = (n - 1) / 2;
    double cross = 0;
    for (size_t i = 0; i < s->n; i++)
        cross += ((double)i - middle) * (s->y[i] - s->centre);
    return s->square[s->n] - cross * cross / (n * (n * n - 1) / 12);
}

static size_t own_noise(const struct sums *s)
{
    size_t best = 0;
    double most = 0;
    for (size_t at = OWN_NOISE; at + OWN_NOISE <= s->n; at++) {
        const struct side a = side_of(s, 0, at), b = side_of(s, at, s->n);
        const double error = error_of(a, b, 1, 1);
        const double z = error > 0 ? fabs(b.mean - a.mean) / error : 0;
        if (z > most)
            most = z, best = at;
    }
    if (best == 0)
        return 0;
    const double grow_a = growth(s, 0, best), grow_b = growth(s, best, s->n);
    const struct side a = side_of(s, 0, best), b = side_of(s, best, s->n);
    const double error = error_of(a, b, grow_a, grow_b);
    if (!(grow_a > 0) || !(grow_b > 0) || fabs(b.mean - a.mean) <= errors * error)
        return 0;
    return a.squares + b.squares < step_share * about_line(s) ? best : 0;
}

bool clear_step_find(struct change *out, const double *y, size_t n, double confidence)
{
    if (n < LEAST_SIDE + LEAST_OTHER)
        return false;
    struct sums s = sums_of(y, n);
    size_t at = separate(&s);
    if (at == 0)
        at = own_noise(&s);
    if (at > 0) {
        const struct side a = side_of(&s, 0, at), b = side_of(&s, at, n);
        const double error = error_of(a, b, 1, 1), gap = b.mean - a.mean;
        const double z = error > 0 ? fabs(gap) / error : 1e6;
        *out = (struct change){.index = at,
                               .earliest = at,
                               .latest = at,
                               .before = s.centre + a.mean,
                               .after = s.centre + b.mean,
                               .evidence = 0.5 * (double)n * log1p(z * z / (double)n)};
        out->size = interval_about(gap, error * normal_quantile(0.5 + 0.5 * confidence));
    }
    free(s.sum);
    return at > 0;
}

size_t clear_step_runs(size_t *starts, const double *y, size_t n)
{
    size_t count = 0, first = 0;
    for (size_t i = 1; i <= n; i++) {
        if (i < n && y[i] - y[i - 1] == 0)
            continue;
        if (i - first < RUN)
            return 0;
        if (i < n)
            starts[count++] = i;
        first = i;
    }
    return count;
}
