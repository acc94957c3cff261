// SPDX-License-Identifier: Apache-2.0
//
// FOCuS with the level before the change unknown ("sums that forget"), asked once of a series at
// hand. The threshold comes from the series' own past ("thresholds"). A series that has become
// louder since then must stand out of its own scatter.
#include "model/history/focus.h"

#include "model/base.h"
#include "model/history/change_set.h"
#include "model/history/changepoint.h"
#include "model/history/changepoint_look.h"
#include "model/history/local_level.h"
#include "model/history/noise.h"
#include "model/history/pattern.h"
#include "model/history/steps.h"
#include "model/robust.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern const struct focus_options focus_defaults;

// ---- sums that forget ----
//
// FOCuS (Romano, Eckley, Fearnhead and Rigaill, "Fast online changepoint detection via functional
// pruning CUSUM statistics", JMLR 2023), with the level before the change unknown. With S_s the sum
// of the first s values, the statistic of a change after s is
//     S_s^2 / s + (S_t - S_s)^2 / (t - s) - S_t^2 / t,
// largest over s. For upward changes only vertices of the lower convex hull of (s, S_s) can be best
// now or ever, for downward ones those of the upper hull; about log t of them stand at a time, and
// keeping a hull costs one push and amortised one pop a value.

static void hull_add(struct hull *hull, double s, double sum)
{
    while (hull->count >= 2) {
        const struct vertex *a = &hull->items[hull->count - 2], *b = a + 1;
        if ((b->sum - a->sum) * (s - b->s) < (sum - b->sum) * (b->s - a->s))
            break;
        hull->count--;
    }
    hull->items = xgrow(hull->items, hull->count, &hull->room, sizeof(*hull->items));
    hull->items[hull->count++] = (struct vertex){s, sum};
}

void cusum_clear(struct cusum *cusum)
{
    cusum->up.count = cusum->down.count = 0;
    cusum->n = cusum->sum = 0;
}

// With B = S_s the statistic is (n B - s S_n)^2 / (s n (n - s)).
static void look(struct peak *best, const struct hull *hull, double n, double sum)
{
    for (size_t i = 0; i < hull->count; i++) {
        double s = hull->items[i].s, gap = s * sum - n * hull->items[i].sum;
        double scale = s * n * (n - s);
        if (gap > 0 && gap * gap > best->statistic * scale)
            *best = (struct peak){gap * gap / scale, s};
    }
}

struct peak cusum_push(struct cusum *cusum, double z)
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

void cusum_free(struct cusum *cusum)
{
    free(cusum->up.items);
    free(cusum->down.items);
}

// ---- thresholds ----
//
// What a statistic of FOCuS must exceed. Blocks of the series' own past, long enough to carry its
// correlation, are drawn at random into streams that cannot have a change; the maxima of their
// statistics follow a Gumbel law, whose fit gives the level that is crossed once in 1 /
// false_alarms values.

enum {
    STREAMS = 96,
    STREAM_VALUES = 500,
    SKIP = 20,
    MIN_BLOCK = 5,
};

static const double efficiency = 0.4; // degrees of freedom per value of the scale

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
    assert(n > 0);
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

// No threshold is below: one outlier scores up to bound^2 and must never do, however regular the
// past was.
static double focus_threshold_least(const struct focus_options *options)
{
    return 1.5 * options->bound * options->bound;
}

// The threshold that the statistic exceeds once in 1 / (options->false_alarms * share) values, in a
// stream like z[0..n) (n > 0; residuals in units of the noise, clipped at options->bound).
// `inflation`, >= 1: by how much correlation inflates the variance of their means; `share`, in (0,
// 1]: what is left of the rate for errors of level and scale.
static double focus_threshold(const double *z, size_t n, double inflation, double share,
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
    double rate = options->false_alarms * share * STREAM_VALUES;
    double freedom = efficiency * (double)n / sqrt(inflation);
    double threshold = freedom * expm1(fmin((location - scale * log(rate)) / freedom, 50));
    return fmax(threshold, focus_threshold_least(options));
}

const struct focus_options focus_defaults = {
    .false_alarms = 1e-4, .bound = 3, .learn = 40, .seed = 0x706c756d62};

enum {
    NEWEST = 50,
    PAST = 20000,
    PRIOR_VALUES = 10,
};

static const double newest_safety = 0.5; // of the rate asked for: level and scale are estimates

static double clip(double value, double bound)
{
    return fmax(-bound, fmin(bound, value));
}

// The residuals of the values from their segments' levels, in units of the noise, clipped. The
// caller frees.
static double *residuals_of(const double *values, size_t n, const struct changepoints *found,
                            double level, double bound)
{
    double *z = xcalloc(n, sizeof(*z));
    for (size_t i = 0, j = 0; i < n; i++) {
        while (j < found->count && found->changes[j].index <= i)
            j++;
        double middle = found->count == 0  ? level
                        : j < found->count ? found->changes[j].before
                                           : found->changes[j - 1].after;
        z[i] = clip((values[i] - middle) / found->sigma, bound);
    }
    return z;
}

static double median_of(const double *values, size_t n)
{
    double *work = xcalloc(n, sizeof(*work));
    memcpy(work, values, n * sizeof(*work));
    double median = robust_median(work, n);
    free(work);
    return median;
}

// A random walk in noise explains the values better than one step at `at` does.
static bool wanders(const double *values, size_t n, double level, double reach, size_t at)
{
    struct potts_segment halves[] = {{0, at, 0}, {at, n, 0}};
    double *clean = xcalloc(n, sizeof(*clean));
    for (size_t i = 0; i < n; i++)
        clean[i] = clip(values[i] - level, reach);
    double step = steps_fit(clean, n, halves, 2).log_likelihood;
    double walk = local_level_fit(clean, NULL, n).log_likelihood;
    free(clean);
    return walk > step;
}

// How much more values vary than the past did, both in units of its noise: louder is no change of
// level. Few say little of it.
static double loudness(const double *values, size_t n, double sigma)
{
    double count = (double)n, ratio = noise_estimate(values, n).sigma / sigma;
    return fmax(1, (count * ratio * ratio + PRIOR_VALUES) / (count + PRIOR_VALUES));
}

// The finite values since the last change of the past, and what came after it.
struct newest_values {
    double *values, *z; // as they are; clipped and in units of the noise
    size_t *where;
    size_t n;
    double level;
};

static struct newest_values stretch_of(const double *values, size_t n, size_t learned,
                                       const struct changepoints *past, double bound)
{
    size_t first = past->count ? past->changes[past->count - 1].index : 0, known = 0;
    struct newest_values s = {xcalloc(n, sizeof(*s.values)), xcalloc(n, sizeof(*s.z)),
                              xcalloc(n, sizeof(*s.where)), 0, 0};
    for (size_t i = first; i < n; i++) {
        if (!isfinite(values[i]))
            continue;
        s.values[s.n] = values[i];
        s.where[s.n++] = i;
        known += i < learned;
    }
    s.level = known ? median_of(s.values, known) : 0;
    for (size_t i = 0; i < s.n; i++)
        s.z[i] = clip((s.values[i] - s.level) / past->sigma, bound);
    return s;
}

static void stretch_free(struct newest_values *s)
{
    free(s->values);
    free(s->z);
    free(s->where);
}

// From the past alone: a change among the newest must not raise what it is held against.
static double threshold_by(const double *values, size_t learned, const struct changepoints *past,
                           double level, const struct focus_options *options)
{
    double *z = residuals_of(values, learned, past, level, options->bound);
    size_t count = 0;
    for (size_t i = 0; i < learned; i++) {
        if (isfinite(values[i]))
            z[count++] = z[i];
    }
    double threshold = focus_threshold(z, count, past->inflation, newest_safety, options);
    free(z);
    return threshold;
}

// Clipping hides the size of large changes, a median does not.
static void describe(struct change *out, const struct newest_values *s, const struct peak *peak,
                     const struct changepoints *past)
{
    const size_t at = (size_t)peak->s;
    const double before = median_of(s->values, at);
    const double after = median_of(s->values + at, s->n - at), size = after - before;
    *out = (struct change){.index = at,
                           .before = before,
                           .after = after,
                           .size = {size, size, size},
                           .evidence = 0.5 * peak->statistic / past->inflation};
    change_set(out, s->values, 0, s->n, past->inflation, changepoint_defaults.confidence);
    out->index = s->where[at];
    out->earliest = s->where[out->earliest];
    out->latest = s->where[out->latest];
}

static enum focus_state look_at_newest(struct change *out, const double *values, size_t n,
                                       size_t learned, const struct changepoints *past,
                                       const struct focus_options *o)
{
    struct newest_values s = stretch_of(values, n, learned, past, o->bound);
    struct cusum cusum = {0};
    struct peak peak = {0, 0};
    enum focus_state state = FOCUS_QUIET;
    for (size_t i = 0; i < s.n; i++)
        peak = cusum_push(&cusum, s.z[i]);
    cusum_free(&cusum);
    // Only what no threshold is above is worth the permutations.
    size_t at = (size_t)peak.s;
    peak.statistic /= loudness(s.values + at, s.n - at, past->sigma);
    if (peak.statistic > focus_threshold_least(o) && s.where[at] >= learned &&
        peak.statistic > threshold_by(values, learned, past, s.level, o) &&
        !wanders(s.values, s.n, s.level, 2 * o->bound * past->sigma, at)) {
        state = FOCUS_ALARM;
        describe(out, &s, &peak, past);
    }
    stretch_free(&s);
    return state;
}

static enum focus_state newest_of(struct change *out, const double *values, size_t n,
                                  const struct changepoints *found, const struct focus_options *o)
{
    size_t learned = n > o->learn + NEWEST ? n - NEWEST : o->learn;
    if (found->count && found->changes[found->count - 1].latest >= learned)
        return FOCUS_QUIET; // the segmentation has it
    // What is long past says nothing of the newest.
    const size_t from = learned > PAST ? learned - PAST : 0;
    values += from, n -= from, learned -= from;
    struct changepoints past;
    changepoints_look(&past, values, learned, &changepoint_defaults);
    enum focus_state state = !(past.sigma > 0) ? FOCUS_LEARNING
                             : past.drift      ? FOCUS_DRIFT
                                               : look_at_newest(out, values, n, learned, &past, o);
    changepoints_free(&past);
    if (state == FOCUS_ALARM)
        out->index += from, out->earliest += from, out->latest += from;
    return state;
}

enum focus_state focus_newest(struct change *out, const double *values, size_t n,
                              const struct changepoints *found, const struct focus_options *options)
{
    const struct focus_options *o = options ? options : &focus_defaults;
    if (n <= o->learn)
        return FOCUS_LEARNING;
    if (!found->pattern.period)
        return newest_of(out, values, n, found, o);
    double *rest = xcalloc(n, sizeof(*rest));
    memcpy(rest, values, n * sizeof(*rest));
    pattern_take_off(rest, n);
    const enum focus_state state = newest_of(out, rest, n, found, o);
    free(rest);
    return state;
}
