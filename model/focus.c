// SPDX-License-Identifier: Apache-2.0
//
// FOCuS (Romano, Eckley, Fearnhead and Rigaill, "Fast online changepoint detection via functional
// pruning CUSUM statistics", JMLR 2023), with the level before the change unknown. With S_s the sum
// of the first s values, the statistic of a change after s is
//
//     S_s^2 / s + (S_t - S_s)^2 / (t - s) - S_t^2 / t,
//
// largest over s. For upward changes only vertices of the lower convex hull of (s, S_s) can be best
// now or ever, for downward ones those of the upper hull; about log t of them stand at a time, and
// keeping a hull costs one push and amortised one pop a value.
//
// The threshold comes from the series' own past: blocks of it, long enough to carry its
// correlation, are drawn at random into streams that cannot have a change; the maxima of their
// statistics follow a Gumbel law, whose fit gives the level that is crossed once in 1 /
// false_alarms values.
#include "model/focus.h"

#include "model/base.h"
#include "model/changepoint.h"
#include "model/local_level.h"
#include "model/noise.h"
#include "model/robust.h"
#include "model/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct focus_options focus_defaults = {
    .false_alarms = 1e-4, .bound = 3, .learn = 40, .seed = 0x706c756d62};

enum { STREAMS = 96, STREAM_VALUES = 500, SKIP = 20, MIN_BLOCK = 5 };
static const double safety = 0.04;    // of the rate asked for: scale and level are estimates too
static const double efficiency = 0.4; // degrees of freedom per value of the scale

struct vertex {
    double s, sum;
};

struct hull {
    struct vertex *items;
    size_t count, room;
};

struct cusum {
    struct hull up, down; // `down` is that of the negated sums
    double n, sum;
};

struct focus {
    struct focus_options options;
    size_t pushed;  // all values ever
    double *values; // since the last change, finite ones
    size_t *where;  // their numbers
    size_t n, room;
    size_t calibrate_at; // n
    bool ready, drift;
    double level, sigma, threshold;
    struct cusum cusum;
};

static void hull_add(struct hull *hull, double s, double sum)
{
    while (hull->count >= 2) {
        const struct vertex *a = &hull->items[hull->count - 2], *b = a + 1;
        if ((b->sum - a->sum) * (s - b->s) < (sum - b->sum) * (b->s - a->s))
            break;
        hull->count--;
    }
    if (hull->count == hull->room) {
        hull->room = 2 * hull->room + 16;
        hull->items = xrealloc(hull->items, hull->room, sizeof(*hull->items));
    }
    hull->items[hull->count++] = (struct vertex){s, sum};
}

static void cusum_clear(struct cusum *cusum)
{
    cusum->up.count = cusum->down.count = 0;
    cusum->n = cusum->sum = 0;
}

struct peak {
    double statistic, s;
};

static void look(struct peak *best, const struct hull *hull, double n, double sum)
{
    for (size_t i = 0; i < hull->count; i++) {
        double s = hull->items[i].s, before = hull->items[i].sum;
        double gap = (sum - before) / (n - s) - before / s;
        double statistic = s * (n - s) / n * gap * gap;
        if (gap > 0 && statistic > best->statistic)
            *best = (struct peak){statistic, s};
    }
}

static struct peak cusum_push(struct cusum *cusum, double z)
{
    if (cusum->n > 0) {
        hull_add(&cusum->up, cusum->n, cusum->sum);
        hull_add(&cusum->down, cusum->n, -cusum->sum);
    }
    cusum->n++;
    cusum->sum += z;
    struct peak best = {0, 0};
    look(&best, &cusum->up, cusum->n, cusum->sum);
    look(&best, &cusum->down, cusum->n, -cusum->sum);
    return best;
}

static void cusum_free(struct cusum *cusum)
{
    free(cusum->up.items);
    free(cusum->down.items);
}

static double clip(double value, double bound)
{
    return fmax(-bound, fmin(bound, value));
}

// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Largest statistic in a stream of blocks drawn from the residuals.
static double stream_maximum(struct cusum *cusum, const double *z, size_t n, size_t block,
                             uint64_t *state)
{
    double largest = 0;
    size_t at = 0, left = 0;
    cusum_clear(cusum);
    for (int t = 0; t < STREAM_VALUES; t++) {
        if (left == 0) {
            at = next_random(state) % n;
            left = block;
        }
        struct peak peak = cusum_push(cusum, z[at]);
        if (t >= SKIP)
            largest = fmax(largest, peak.statistic);
        at = at + 1 < n ? at + 1 : 0;
        left--;
    }
    return largest;
}

static double threshold_of(const double *z, size_t n, double inflation,
                           const struct focus_options *options)
{
    uint64_t state = options->seed;
    struct cusum cusum = {0};
    size_t block = (size_t)fmin((double)n / 4, fmax(MIN_BLOCK, 3 * inflation));
    double sum = 0, squares = 0;
    for (int i = 0; i < STREAMS; i++) {
        double largest = stream_maximum(&cusum, z, n, block, &state);
        sum += largest;
        squares += largest * largest;
    }
    cusum_free(&cusum);
    double mean = sum / STREAMS, variance = squares / STREAMS - mean * mean;
    double scale = sqrt(6 * fmax(variance, 0)) / M_PI, location = mean - 0.5772156649 * scale;
    double rate = options->false_alarms * safety * STREAM_VALUES;
    double freedom = efficiency * (double)n / sqrt(inflation);
    double threshold = freedom * expm1(fmin((location - scale * log(rate)) / freedom, 50));
    // One outlier scores up to bound^2 and must never do, however regular the past was.
    return fmax(threshold, 1.5 * options->bound * options->bound);
}

// Learns level, scale, memory and threshold from the values since the last change.
static void calibrate(struct focus *f)
{
    struct changepoints past;
    changepoints_find(&past, f->values, f->n, NULL);
    f->ready = past.sigma > 0;
    f->drift = past.drift;
    f->sigma = past.sigma;
    double *z = xcalloc(f->n, sizeof(*z));
    memcpy(z, f->values, f->n * sizeof(*z));
    f->level = robust_median(z, f->n);
    // Should the past hold changes, the residuals are those of its segments.
    for (size_t i = 0, j = 0; f->ready && i < f->n; i++) {
        while (j < past.count && past.changes[j].index <= i)
            j++;
        double level = past.count == 0  ? f->level
                       : j < past.count ? past.changes[j].before
                                        : past.changes[j - 1].after;
        z[i] = clip((f->values[i] - level) / f->sigma, f->options.bound);
    }
    if (f->ready)
        f->threshold = threshold_of(z, f->n, past.inflation, &f->options);
    free(z);
    changepoints_free(&past);
    cusum_clear(&f->cusum);
    for (size_t i = 0; f->ready && i < f->n; i++)
        cusum_push(&f->cusum, clip((f->values[i] - f->level) / f->sigma, f->options.bound));
    f->calibrate_at = 2 * f->n;
}

// A random walk in noise explains the values better than one step at `at` does.
static bool wanders(const struct focus *f, size_t at)
{
    struct potts_segment halves[] = {{0, at, 0}, {at, f->n, 0}};
    double *clean = xcalloc(f->n, sizeof(*clean));
    for (size_t i = 0; i < f->n; i++)
        clean[i] = clip((f->values[i] - f->level) / f->sigma, 2 * f->options.bound);
    double step = steps_fit(clean, f->n, halves, 2).log_likelihood;
    double walk = local_level_fit(clean, NULL, f->n).log_likelihood;
    free(clean);
    return walk > step;
}

static double mean(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

// Keeps what came since the change; scale and threshold stay until enough is known of the new
// level.
static void restart(struct focus *f, size_t at)
{
    f->n -= at;
    memmove(f->values, f->values + at, f->n * sizeof(*f->values));
    memmove(f->where, f->where + at, f->n * sizeof(*f->where));
    f->ready = f->drift = false;
    f->calibrate_at = f->options.learn;
    cusum_clear(&f->cusum);
}

struct focus *focus_new(const struct focus_options *options)
{
    struct focus *f = xcalloc(1, sizeof(*f));
    f->options = options ? *options : focus_defaults;
    f->calibrate_at = f->options.learn;
    return f;
}

void focus_free(struct focus *f)
{
    if (!f)
        return;
    cusum_free(&f->cusum);
    free(f->values);
    free(f->where);
    free(f);
}

static enum focus_state calm(const struct focus *f)
{
    return !f->ready ? FOCUS_LEARNING : f->drift ? FOCUS_DRIFT : FOCUS_QUIET;
}

static void remember(struct focus *f, double value)
{
    if (f->n == f->room) {
        f->room = 2 * f->room + 64;
        f->values = xrealloc(f->values, f->room, sizeof(*f->values));
        f->where = xrealloc(f->where, f->room, sizeof(*f->where));
    }
    f->values[f->n] = value;
    f->where[f->n++] = f->pushed - 1;
}

enum focus_state focus_push(struct focus *f, double value, struct focus_alarm *alarm)
{
    f->pushed++;
    if (!isfinite(value))
        return calm(f);
    remember(f, value);
    struct peak peak = {0, 0};
    if (f->ready)
        peak = cusum_push(&f->cusum, clip((value - f->level) / f->sigma, f->options.bound));
    if (f->ready && !f->drift && peak.statistic > f->threshold) {
        size_t at = (size_t)peak.s;
        f->drift = wanders(f, at);
        if (!f->drift) {
            if (alarm) {
                double before = mean(f->values, at), after = mean(f->values + at, f->n - at);
                *alarm = (struct focus_alarm){f->where[at], after - before, peak.statistic,
                                              f->threshold};
            }
            restart(f, at);
            return FOCUS_ALARM;
        }
    }
    if (f->n >= f->calibrate_at)
        calibrate(f);
    return calm(f);
}

struct creep creep_test(double epoch_level, double epoch_se, const double *values, size_t n,
                        double margin, double confidence)
{
    double *kept = xcalloc(n, sizeof(*kept));
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(values[i]))
            kept[count++] = values[i];
    }
    struct creep creep = {.size = 0, .low = -INFINITY, .high = INFINITY};
    if (count >= 3) {
        struct series_noise noise = noise_estimate(kept, count);
        double inflation = noise_inflation(fmin(noise.correlation, 0.9));
        double variance = noise.sigma * noise.sigma * inflation / (double)count;
        double se = sqrt(variance + epoch_se * epoch_se);
        struct robust_mean robust = robust_mean(kept, count);
        creep.size = robust.mean - epoch_level;
        double reach = se * normal_quantile(0.5 + 0.5 * confidence);
        creep.low = creep.size - reach;
        creep.high = creep.size + reach;
        creep.moved = creep.low > margin || creep.high < -margin;
        double excess = fmax(fabs(creep.size) - margin, 0);
        creep.evidence = excess <= 0 ? 0 : se > 0 ? 0.5 * pow(excess / se, 2) : INFINITY;
    }
    free(kept);
    return creep;
}
