// SPDX-License-Identifier: Apache-2.0
//
// FOCuS with the level before the change unknown (model/history/cusum.h), asked once of a series at
// hand. The threshold comes from the series' own past (focus_threshold.c). A series that has become
// louder since then must stand out of its own scatter.
#include "model/history/focus.h"

#include "model/base.h"
#include "model/history/changepoint.h"
#include "model/history/changepoint_look.h"
#include "model/history/cusum.h"
#include "model/history/focus_threshold.h"
#include "model/history/local_level.h"
#include "model/history/noise.h"
#include "model/history/steps.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

// Clipped residuals of the segments that were found, in units of the noise. The caller frees.
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
struct stretch {
    double *values, *z; // as they are; clipped and in units of the noise
    size_t *where;
    size_t n;
    double level;
};

static struct stretch stretch_of(const double *values, size_t n, size_t learned,
                                 const struct changepoints *past, double bound)
{
    size_t first = past->count ? past->changes[past->count - 1].index : 0, known = 0;
    struct stretch s = {xcalloc(n, sizeof(*s.values)), xcalloc(n, sizeof(*s.z)),
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

static void stretch_free(struct stretch *s)
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

// All that is within the 95 % point of chi squared, by 1.92 nats, of the best place: the profile
// likelihood's interval. Its width in size is that of two means.
static void describe(struct change *out, const struct stretch *s, const struct peak *peak,
                     const struct changepoints *past)
{
    double n = (double)s->n, at = peak->s, total = 0, sum = 0, before = 0;
    double near = peak->statistic - 3.84 * past->inflation;
    for (size_t i = 0; i < s->n; i++)
        total += s->z[i];
    size_t low = (size_t)at, high = (size_t)at;
    for (size_t i = 1; i < s->n; i++) {
        sum += s->z[i - 1];
        if (i == (size_t)at)
            before = sum;
        double split = (double)i, gap = split * total - n * sum;
        if (gap * gap / (split * n * (n - split)) < near)
            continue;
        low = i < low ? i : low;
        high = i > high ? i : high;
    }
    // Clipping hides the size of large changes, a median does not.
    double size =
        median_of(s->values + (size_t)at, s->n - (size_t)at) - median_of(s->values, (size_t)at);
    double reach = 1.96 * past->sigma * sqrt(past->inflation * (1 / at + 1 / (n - at)));
    double from = s->level + past->sigma * before / at;
    *out = (struct change){.index = s->where[(size_t)at],
                           .earliest = s->where[low],
                           .latest = s->where[high],
                           .before = from,
                           .after = from + size,
                           .size = interval_about(size, reach),
                           .evidence = 0.5 * peak->statistic / past->inflation};
}

static enum focus_state look_at_newest(struct change *out, const double *values, size_t n,
                                       size_t learned, const struct changepoints *past,
                                       const struct focus_options *o)
{
    struct stretch s = stretch_of(values, n, learned, past, o->bound);
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

enum focus_state focus_newest(struct change *out, const double *values, size_t n,
                              const struct changepoints *found, const struct focus_options *options)
{
    const struct focus_options *o = options ? options : &focus_defaults;
    if (n <= o->learn)
        return FOCUS_LEARNING;
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
