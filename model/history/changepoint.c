// SPDX-License-Identifier: Apache-2.0
//
// Finds change points. The steps of model/history/segmentation.h must pass several tests. Each must
// gain more than noise with memory would have cost (model/history/memory.c). In short series its
// level must also hold more values than strays could form by chance (revisit_drop()). Then all
// steps together are compared with a random walk in noise, fitted to the whole series, whose level
// may also jump ("a level that walks"). If the walk explains the values better, or if neighbouring
// values are so similar that segmentation cannot tell, the series drifts, and only the walk's jumps
// are reported. All likelihoods are conditional on the first value and take their variance from the
// data; steps and jumps pay for each change.
//
// The credible set of a step comes from change_set(); that of a jump from the squared statistics of
// a jump at each index.
#include "model/history/changepoint.h"

#include "model/base.h"
#include "model/history/segmentation.h"
#include "model/history/shape.h"
#include "model/robust.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// ==== the points at which a change may have begun ====
//
// For a change that was found, by whichever rule: the points at which it may have happened, and its
// size, so that both cover the truth as often as they say.
//
// The set is a credible one. With the first new value at k, let the a values before and the b
// values after have the squares A and B about their means. Means have a flat prior. Each side has a
// variance of its own; its prior is the variance of both sides together, with the weight of PRIOR
// values. So sides may differ, although one or two values say nothing about their own scatter. Then
//     p(k) ~ product over sides of  Gamma((PRIOR + n - 1) / 2) n^-1/2
//                                   (PRIOR s^2 + S)^-(PRIOR + n - 1)/2
// and the logarithm is divided by the inflation that memory causes. The set grows from the reported
// index until it has the confidence. Values farther than REACH standard deviations from their
// side's median are moved to that distance, so that one stray cannot decide about the commit.
//
// The size is a mixture over k of the differences of means, each with its error from the sides' own
// scatter. So its interval includes that k is not known.
//
// Memory is estimated from the residuals about the reported split: their correlation at lag 1,
// increased by its bias (Kendall 1954, as in segmentation.c) and by one and a half standard errors,
// because the divisor must not be too small.

enum { PRIOR = 4, REACH = 4 };
// The least statistic of a reported change: 11 nats ("looks at more than steps").
static const double least_reported = 4.69;
static const double hardly = 0.002; // the share of changes of that size that are reported
// Reported changes were selected because they look clear, so their place looks more certain than it
// is. So a set must hold all but a part of what is left, one in `selected` and in `selected_few`
// for each value: of few values only the clearest few steps are reported. Found by
// tests/measure/bench_sets.c: with 1 and 0, sets cover .81 of steps of 2 SD in 60 values; with 2
// and 0, at least .96 wherever a tenth of steps are found, but .90 of steps of which one in a
// thousand is found, in ten values whose noise becomes three times as loud.
static const double selected = 2, selected_few = 60;

struct sums {
    double *sum, *square; // sums over the first i values
};

static double squares_of(const struct sums *s, size_t first, size_t end, double *mean)
{
    const double n = (double)(end - first), sum = s->sum[end] - s->sum[first];
    *mean = n > 0 ? sum / n : 0;
    return n > 0 ? fmax(0, s->square[end] - s->square[first] - sum * sum / n) : 0;
}

// Moves strays towards their side's median. A value that many others have is no stray: the reach is
// a multiple of the mean distance, so a second mode stays where it is.
static void tame(double *y, size_t n)
{
    double *work = xcalloc(n, sizeof(*work)), away = 0;
    memcpy(work, y, n * sizeof(*work));
    const double median = robust_median(work, n);
    for (size_t i = 0; i < n; i++)
        away += fabs(y[i] - median) / (double)n;
    // for normal values this is REACH standard deviations
    const double reach = REACH * sqrt(M_PI / 2) * away;
    for (size_t i = 0; i < n; i++)
        y[i] = fmax(median - reach, fmin(median + reach, y[i]));
    free(work);
}

// The factor by which memory increases the variance of a mean.
static double inflation_of(const double *y, size_t n, size_t at, double mean_a, double mean_b)
{
    double cross = 0, squares = 0, before = 0;
    for (size_t i = 0; i < n; i++) {
        const double r = y[i] - (i < at ? mean_a : mean_b);
        cross += i == at ? 0 : r * before;
        squares += r * r;
        before = r;
    }
    const double r = squares > 0 ? cross / squares : 0, all = (double)n;
    const double most = r + 2 * (1 + 4 * fmax(r, 0)) / all + 1.5 / sqrt(all);
    return noise_inflation(fmin(fmax(most, 0), 0.9));
}

struct side_fit {
    double log_mass, mean, variance; // mean, variance: of the mean
};

static struct side_fit side_fit(const struct sums *s, size_t first, size_t end, double prior)
{
    struct side_fit out;
    const double n = (double)(end - first), square = squares_of(s, first, end, &out.mean);
    const double freedom = PRIOR + n - 1;
    out.log_mass =
        lgamma(freedom / 2) - log(n) / 2 - freedom / 2 * log((PRIOR * prior + square) / 2);
    out.variance = (PRIOR * prior + square) / freedom / n;
    return out;
}

// Extends the set from `best` towards the likelier side until it reaches the confidence.
static void grow(size_t *low, size_t *high, const double *mass, size_t n, size_t best,
                 double confidence)
{
    double held = mass[best];
    *low = *high = best;
    while (held < confidence && (*low > 1 || *high + 1 < n)) {
        const double left = *low > 1 ? mass[*low - 1] : -1;
        const double right = *high + 1 < n ? mass[*high + 1] : -1;
        held += left > right ? mass[--*low] : mass[++*high];
    }
}

// The reach of Student's t. It is the interval of a likelihood whose scale is fitted, computed from
// the reach of the normal distribution.
static double student_reach(double confidence, double freedom)
{
    const double normal = normal_quantile(0.5 + 0.5 * confidence);
    return sqrt(freedom * expm1(normal * normal / freedom));
}

// The lower end of the interval of a change's size, as a share of the size that was seen. Only
// changes that look large are reported, so a small one that is reported looks larger than it is
// ("winner's curse"; conditional likelihood as by Zhong and Prentice 2008). The lower end is the
// size that shows as much as was seen, or more, with the chance (1 - confidence) / 2 among those of
// its changes that are reported. For a change that was only just reported this is minus infinity.
// So there is a bound: a size of which one change in five hundred is reported.
static double least_of(double z, double freedom, double confidence)
{
    z = sqrt(freedom * log1p(z * z / freedom)); // of a normal value that is as rare
    const double seen = fmax(z, least_reported), chance = 0.5 - 0.5 * confidence;
    double low = -seen, high = seen;
    for (int i = 0; i < 40; i++) {
        const double middle = (low + high) / 2;
        const double shown = erfc((seen - middle) * M_SQRT1_2);
        if (shown > chance * erfc((least_reported - middle) * M_SQRT1_2))
            high = middle;
        else
            low = middle;
    }
    return fmax(low, least_reported - normal_quantile(1 - hardly)) / seen;
}

struct set {
    double *y;
    size_t *where, n, at; // at: place of the reported index
};

static void describe(struct change *change, const struct set *s, const struct sums *sums,
                     double inflation, double confidence)
{
    double mean_a, mean_b, *mass = xcalloc(s->n, sizeof(*mass)), most = -INFINITY, total = 0;
    double size = 0, square = 0;
    const double scatter =
        squares_of(sums, 0, s->at, &mean_a) + squares_of(sums, s->at, s->n, &mean_b);
    const double gap = mean_b - mean_a;
    // Without any scatter only rounding remains.
    const double prior = fmax(scatter / fmax((double)s->n - 2, 1), 1e-18 * gap * gap);
    inflation = fmax(inflation, inflation_of(s->y, s->n, s->at, mean_a, mean_b));
    for (size_t k = 1; k < s->n; k++) {
        mass[k] = side_fit(sums, 0, k, prior).log_mass + side_fit(sums, k, s->n, prior).log_mass;
        mass[k] /= inflation;
        most = fmax(most, mass[k]);
    }
    for (size_t k = 1; k < s->n; k++)
        total += mass[k] = exp(mass[k] - most);
    for (size_t k = 1; k < s->n; k++) {
        const struct side_fit a = side_fit(sums, 0, k, prior), b = side_fit(sums, k, s->n, prior);
        const double d = b.mean - a.mean;
        mass[k] /= total;
        size += mass[k] * d;
        square += mass[k] * (d * d + inflation * (a.variance + b.variance));
    }
    size_t low, high;
    grow(&low, &high, mass, s->n, s->at,
         1 - (1 - confidence) / (selected + selected_few / (double)s->n));
    change->earliest = s->where[low];
    change->latest = s->where[high];
    const double fewer = (double)(s->at < s->n - s->at ? s->at : s->n - s->at);
    const double error = sqrt(fmax(square - size * size, 0)), freedom = fewer + PRIOR - 1;
    const double reach = student_reach(confidence, freedom) * error;
    const double far = size + (size > 0 ? reach : -reach);
    const double near = error > 0 ? size * least_of(fabs(size) / error, freedom, confidence) : size;
    change->size.low = fmin(change->size.value, fmin(near, far)) + 0.0; // never -0
    change->size.high = fmax(change->size.value, fmax(near, far)) + 0.0;
    free(mass);
}

// Sets earliest, latest and the ends of the size from the values first..end-1 between the
// neighbouring changes. index, before, after and size.value do not change, and lie within. Values
// that are not finite are missing. `inflation` >= 1: that of the variance of a mean, as far as it
// is known already.
static void change_set(struct change *change, const double *values, size_t first, size_t end,
                       double inflation, double confidence)
{
    struct set s = {xcalloc(end - first, sizeof(*s.y)), xcalloc(end - first, sizeof(*s.where)), 0,
                    0};
    for (size_t i = first; i < end; i++) {
        if (!isfinite(values[i]))
            continue;
        if (i < change->index)
            s.at = s.n + 1;
        // The middle of the reported step is subtracted, so that sums of squares stay exact.
        s.y[s.n] = values[i] - change->before;
        s.where[s.n++] = i;
    }
    if (s.at > 0 && s.at < s.n) {
        struct sums sums = {xcalloc(s.n + 1, sizeof(double)), xcalloc(s.n + 1, sizeof(double))};
        tame(s.y, s.at);
        tame(s.y + s.at, s.n - s.at);
        for (size_t i = 0; i < s.n; i++) {
            sums.sum[i + 1] = sums.sum[i] + s.y[i];
            sums.square[i + 1] = sums.square[i] + s.y[i] * s.y[i];
        }
        describe(change, &s, &sums, inflation, confidence);
        free(sums.sum);
        free(sums.square);
    }
    free(s.y);
    free(s.where);
}

// Sets the credible sets of all changes, each between its neighbours. For a change after the
// noise became `calm`, the loud values before that do not count. A level that wanders has a set
// of its own.
static void change_set_all(struct changepoints *found, const double *values, size_t n, size_t calm,
                           double confidence)
{
    for (size_t i = 0; !found->drift && i < found->count; i++) {
        const size_t before = i ? found->changes[i - 1].index : 0;
        const size_t end = i + 1 < found->count ? found->changes[i + 1].index : n;
        const size_t first = before < calm && calm < found->changes[i].index ? calm : before;
        change_set(&found->changes[i], values, first, end, 1, confidence);
    }
}

// ==== a level that walks ====
//
// The local level model: a random walk seen through noise, with jumps. A drifting series is
// compared with it before steps are believed. It is fitted by maximum likelihood:
//     y_t = level_t + noise_t,   level_t = level_{t-1} + step_t,   var(step) = ratio var(noise)
//
// The Kalman filter with a diffuse start gives innovations v_t of variance F_t in units of the
// noise variance, which is thereby concentrated out of the likelihood; one parameter, the ratio, is
// left. A jump makes the level start again. That leaves the same squares as fitting the jump's size
// would; with the variances F_t of a single start it is the likelihood of such jumps, whatever
// their number. Smoothing backwards gives, for every t, the score test of a jump between t - 1 and
// t: r / sqrt(N), which is normal(0, 1) without a jump (Harvey and Koopman, "Diagnostic checking of
// unobserved-components time series models", 1992; Durbin and Koopman, "Time Series Analysis by
// State Space Methods", 2012, section 7.5).

struct local_level {
    double noise_variance;
    double walk_ratio;     // the variance of one step of the walk, divided by noise_variance
    double log_likelihood; // the maximum, up to the constant -(n/2) log 2 pi
};

enum {
    AROUND = 25,    // number of innovations on each side that show how loud the series is there
    PROMISING = 16, // squared statistic from which on the loudness on both sides is examined
};

// The innovations of one pass. variance[t] is 0 at a start, which has no innovation.
struct filter {
    double *innovation, *variance, *gain;
};

static void filter_run(struct filter *f, const double *values, const unsigned char *starts,
                       size_t n, double ratio)
{
    double level = 0, spread = 0;
    for (size_t t = 0; t < n; t++) {
        if (t == 0 || (starts && starts[t])) {
            level = values[t];
            spread = 1 + ratio;
            f->innovation[t] = f->variance[t] = 0;
            f->gain[t] = 1;
            continue;
        }
        f->innovation[t] = values[t] - level;
        f->variance[t] = spread + 1;
        f->gain[t] = spread / (spread + 1);
        level += f->gain[t] * f->innovation[t];
        spread = spread * (1 - f->gain[t]) + ratio;
    }
}

static double likelihood(struct filter *f, const double *values, const unsigned char *starts,
                         size_t n, double ratio, double *variance)
{
    filter_run(f, values, starts, n, ratio);
    double squares = 0, logs = 0, count = (double)n - 1, spread = 1 + ratio;
    for (size_t t = 1; t < n; t++) {
        logs += log(spread + 1);
        spread = spread / (spread + 1) + ratio;
        if (f->variance[t] > 0)
            squares += f->innovation[t] * f->innovation[t] / f->variance[t];
    }
    *variance = count > 0 ? squares / count : 0;
    return -0.5 * (count * log(fmax(*variance, 1e-300)) + logs + count);
}

static struct filter filter_new(size_t n)
{
    double *memory = xcalloc(3 * n, sizeof(*memory));
    return (struct filter){memory, memory + n, memory + 2 * n};
}

// Fits by golden section over log(ratio): except for pathological series, the likelihood has one
// maximum.
static struct local_level fit(struct filter *f, const double *values, const unsigned char *starts,
                              size_t n)
{
    const double golden = 0.6180339887498949;
    double low = log(1e-7), high = log(1e4), unused;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double at_a = likelihood(f, values, starts, n, exp(a), &unused);
    double at_b = likelihood(f, values, starts, n, exp(b), &unused);
    while (high - low > 0.1) {
        if (at_a > at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - golden * (high - low);
            at_a = likelihood(f, values, starts, n, exp(a), &unused);
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + golden * (high - low);
            at_b = likelihood(f, values, starts, n, exp(b), &unused);
        }
    }
    struct local_level model = {0, exp(0.5 * (low + high)), 0};
    model.log_likelihood =
        likelihood(f, values, starts, n, model.walk_ratio, &model.noise_variance);
    return model;
}

// Fits both variances by maximum likelihood. A non-zero starts[t] makes the level start again at t
// (a jump); NULL means no jumps. `values` finite, n >= 2.
static struct local_level local_level_fit(const double *values, const unsigned char *starts,
                                          size_t n)
{
    struct filter f = filter_new(n);
    struct local_level model = fit(&f, values, starts, n);
    free(f.innovation);
    return model;
}

// A robust scale of the standardised innovations around t (of all of them if `reach` is n). Jumps
// that were not found yet must not hide themselves in it, and a loud stretch must not look like a
// row of jumps.
static double innovation_scale(const struct filter *f, size_t n, size_t t, size_t reach,
                               double *scratch)
{
    size_t first = t < reach ? 0 : t - reach, end = n - t > reach ? t + reach + 1 : n, count = 0;
    for (size_t i = first; i < end; i++) {
        if (f->variance[i] > 0)
            scratch[count++] = fabs(f->innovation[i]) / sqrt(f->variance[i]);
    }
    return noise_scale(scratch, count);
}

static void scores_run(double *scores, struct filter *f, double *scratch, const double *values,
                       const unsigned char *starts, size_t n)
{
    memset(scores, 0, n * sizeof(*scores));
    struct local_level model = fit(f, values, starts, n); // its last pass stays in `f`
    // At least half of the fitted deviation, because the trimmed scale is nearly 0 if values
    // repeat.
    double scale = fmax(innovation_scale(f, n, 0, n, scratch), 0.5 * sqrt(model.noise_variance));
    if (!(scale > 0))
        return;
    double r = 0, weight = 0;
    for (size_t t = n; t-- > 0;) {
        if (f->variance[t] <= 0) { // a start: later values tell nothing about earlier ones
            r = weight = 0;
            continue;
        }
        double keep = 1 - f->gain[t];
        r = f->innovation[t] / f->variance[t] + keep * r;
        weight = 1 / f->variance[t] + keep * keep * weight;
        scores[t] = r * r / (weight * scale * scale);
        if (scores[t] < PROMISING)
            continue;
        double around = innovation_scale(f, n, t, AROUND, scratch);
        if (around > scale)
            scores[t] *= scale * scale / (around * around);
    }
}

// The squared statistic of a jump between t - 1 and t, for every t. Without a jump it is about
// chi-squared with one degree of freedom. 0 at starts. The scale is robust, so other jumps
// hardly lower it.
static void local_level_scores(double *scores, const double *values, const unsigned char *starts,
                               size_t n)
{
    struct filter f = filter_new(n);
    double *scratch = xcalloc(n, sizeof(*scratch));
    scores_run(scores, &f, scratch, values, starts, n);
    free(scratch);
    free(f.innovation);
}

// Sets starts[t] where the level jumps by more than the walk explains (a statistic above
// `threshold` standard deviations), at most `most` jumps, the strongest first, with a new fit after
// each. Returns their number. `starts` has n elements and is overwritten.
static size_t local_level_jumps(unsigned char *starts, const double *values, size_t n,
                                double threshold, size_t most)
{
    struct filter f = filter_new(n);
    double *scratch = xcalloc(n, sizeof(*scratch));
    double *scores = xcalloc(n, sizeof(*scores));
    memset(starts, 0, n);
    size_t found = 0;
    while (found < most) {
        scores_run(scores, &f, scratch, values, starts, n);
        size_t best = 0;
        for (size_t t = 1; t < n; t++) {
            if (scores[t] > scores[best])
                best = t;
        }
        if (scores[best] <= threshold * threshold)
            break;
        starts[best] = 1;
        found++;
    }
    free(scores);
    free(scratch);
    free(f.innovation);
    return found;
}

// ==== one look ====

const struct changepoint_options changepoint_defaults = {
    .penalty = 15, .bound = 3, .confidence = CONFIDENCE};

enum {
    MAX_JUMPS = 32,
    NEAR = 5,       // number of values whose median is the level next to a jump
    MIN_CALM = 60,  // fewer values cannot show that there is no memory
    MIN_DRIFT = 16, // fewer values cannot show a drift
    BESIDE = 250,   // number of values on either side of a step that show its noise
    FEW = 60,       // number of values; with more, strays show among the residuals
                    // (model/history/segmentation.h)
    MANY = 500,     // number of values; one jump in more values does not make a walk unlikely
};
// The cost of a step in nats when models are compared, as a share of the penalty: in noise that may
// well wander, and in noise that shows no memory.
static const double doubtful_share = 0.7, calm_share = 0.2;
static const double remembered_share = 0.5; // the same where memory about a fixed level competes
static const double close_share = 0.8;      // the same where memory as long as a walk's competes
static const double doubtful_correlation = 0.15; // for fewer than MIN_CALM values: a larger
                                                 // correlation raises doubt
static const double wander_correlation = 0.7;    // with a smaller correlation nobody asks whether
                                                 // the level wanders
static const double dickey_fuller = -14;
static const double jump_threshold = 4.5; // standard deviations; a normal walk reaches it 0.07
                                          // times in 10^4 values

// ---- how likely values are as steps in noise whose neighbours resemble each other ----

struct steps_fit {
    double log_likelihood; // given the first value, at its maximum, up to -(n/2) log 2 pi
    double correlation;    // at lag 1
};

static double mean(const double *values, const struct potts_segment *segment)
{
    double sum = 0;
    for (size_t i = segment->first; i < segment->end; i++)
        sum += values[i];
    return sum / (double)(segment->end - segment->first);
}

// Fits the noise's scale and memory together with the steps. Levels are the means of the segments,
// which cover the n values in order; n >= 2.
static struct steps_fit steps_fit(const double *values, size_t n,
                                  const struct potts_segment *segments, size_t count)
{
    double *residual = xcalloc(n, sizeof(*residual));
    for (size_t j = 0; j < count; j++) {
        double level = mean(values, &segments[j]);
        for (size_t i = segments[j].first; i < segments[j].end; i++)
            residual[i] = values[i] - level;
    }
    double cross = 0, squares = 0;
    for (size_t i = 1; i < n; i++) {
        cross += residual[i] * residual[i - 1];
        squares += residual[i - 1] * residual[i - 1];
    }
    double r = squares > 0 ? fmax(-0.999, fmin(0.999, cross / squares)) : 0;
    struct steps_fit out = {memory_fit(residual, n), r};
    free(residual);
    return out;
}

struct pruning {
    const double *values;
    size_t n;
    double bound;
    struct potts_segment *segments;
    double *gains; // of the step after each segment
    size_t count;
};

// The gain of the step between segments j and j + 1, computed from the values around it.
static double gain_of(const struct pruning *p, size_t j)
{
    const struct potts_segment *a = &p->segments[j], *b = a + 1, both = {a->first, b->end, 0};
    size_t at = b->first, first = at > BESIDE ? at - BESIDE : 0;
    size_t end = p->n - at > BESIDE ? at + BESIDE : p->n, k = j;
    double joined = mean(p->values, &both), with[2 * BESIDE], without[2 * BESIDE];
    while (p->segments[k].first > first)
        k--;
    for (size_t i = first; i < end; i++) {
        k += i >= p->segments[k].end;
        double level = p->segments[k].level, residual = p->values[i] - level;
        with[i - first] = fmax(-p->bound, fmin(p->bound, residual));
        without[i - first] = with[i - first] + (k == j || k == j + 1 ? level - joined : 0);
    }
    return memory_fit(with, end - first) - memory_fit(without, end - first);
}

static size_t weakest(const struct pruning *p)
{
    size_t least = 0;
    for (size_t j = 1; j + 1 < p->count; j++)
        least = p->gains[j] < p->gains[least] ? j : least;
    return least;
}

static void join(struct pruning *p, size_t j)
{
    struct potts_segment *segment = &p->segments[j];
    size_t rest = p->count - j - 2;
    segment->end = segment[1].end;
    segment->level = mean(p->values, segment);
    memmove(segment + 1, segment + 2, rest * sizeof(*segment));
    memmove(p->gains + j, p->gains + j + 1, (rest + 1) * sizeof(*p->gains));
    p->count--;
    for (size_t k = 0; k + 1 < p->count; k++) {
        size_t at = p->segments[k + 1].first;
        if (at + BESIDE > segment->first && at < segment->end + BESIDE)
            p->gains[k] = gain_of(p, k);
    }
}

// Joins neighbouring segments, least loss first, until every step gains more than `cost` nats among
// the BESIDE values on either side of it. No value counts as farther than `bound` from its own
// level. Sets the levels to the means, and returns the number of segments left.
static size_t steps_prune(const double *values, size_t n, double bound,
                          struct potts_segment *segments, size_t count, double cost)
{
    struct pruning p = {values, n, bound, segments, xcalloc(count, sizeof(double)), count};
    for (size_t j = 0; j < count; j++)
        segments[j].level = mean(values, &segments[j]);
    for (size_t j = 0; j + 1 < count; j++)
        p.gains[j] = gain_of(&p, j);
    while (p.count > 1 && p.gains[weakest(&p)] <= cost)
        join(&p, weakest(&p));
    free(p.gains);
    return p.count;
}

// ---- steps against a walk ----

static double clip(double value, double bound)
{
    return fmax(-bound, fmin(bound, value));
}

static double median_of(const double *values, size_t first, size_t end)
{
    double near[NEAR];
    memcpy(near, values + first, (end - first) * sizeof(*near));
    return robust_median(near, end - first);
}

static double spike_bound(const struct segmentation *s)
{
    return (s->bound + 1) * sqrt(s->step_variance);
}

// The values, with isolated outliers replaced by the median of their neighbourhood; shifts stay as
// they are.
static double *without_spikes(const struct segmentation *s)
{
    double *clean = xcalloc(s->n, sizeof(*clean));
    double bound = spike_bound(s);
    for (size_t i = 0; i < s->n; i++) {
        size_t first = i < NEAR / 2 ? 0 : i - NEAR / 2;
        size_t end = i + NEAR / 2 < s->n ? i + NEAR / 2 + 1 : s->n;
        double middle = median_of(s->y, first, end);
        clean[i] = middle + clip(s->y[i] - middle, bound);
    }
    return clean;
}

// The cost of a step; it is higher in short series, whose variance is uncertain.
static double step_cost(const struct segmentation *s, double share)
{
    return share * s->penalty * (1 + 3 / (double)s->n);
}

// The reach of a jump; it is wider for few values, whose scale is uncertain, as in segmentation.c.
static double jump_reach(size_t n)
{
    return sqrt((double)n * expm1(fmin(jump_threshold * jump_threshold / (double)n, 50)));
}

// How much of what steps explain may be memory: 0 none, 1 all.
static double doubt_of(const struct segmentation *s)
{
    double few = (double)MIN_CALM / (double)s->n;
    return fmin(s->correlation / doubtful_correlation + few * few, 1);
}

static bool walk_beats(const struct segmentation *s, const double *clean, double steps)
{
    double share = calm_share + (doubtful_share - calm_share) * doubt_of(s);
    double cost = step_cost(s, share) * (double)(s->count - 1);
    unsigned char *starts = xcalloc(s->n, 1);
    size_t jumps = 0;
    if (s->n <= MANY)
        jumps = local_level_jumps(starts, clean, s->n, jump_reach(s->n), MAX_JUMPS);
    double walk = local_level_fit(clean, starts, s->n).log_likelihood;
    free(starts);
    // A walk with as many jumps as the other model has steps explains no more than that model.
    return jumps + 1 < s->count && walk - step_cost(s, share) * (double)jumps > steps - cost;
}

// The cost of a step beside memory, as a share. It is higher if neighbouring values are as similar
// as those of a walk that stays near a level for long.
static double memory_share(const struct segmentation *s, const double *clean)
{
    const struct potts_segment all = {0, s->n, 0};
    const bool close = steps_fit(clean, s->n, &all, 1).correlation >= wander_correlation;
    return close ? close_share : remembered_share;
}

// For a series without steps: whether its level wanders, or stays while the noise has a long
// memory. The same likelihoods decide, and the test of Dickey and Fuller, "Distribution of the
// estimators for autoregressive time series with a unit root" (1979): n (r - 1) below -14 rejects a
// random walk at 5 %.
static bool wanders(const struct segmentation *s, const double *clean)
{
    if (s->wanders)
        return true;
    if (s->correlation < wander_correlation)
        return false;
    const struct potts_segment all = {0, s->n, 0};
    struct steps_fit fixed = steps_fit(clean, s->n, &all, 1);
    return (double)s->n * (fixed.correlation - 1) > dickey_fuller ||
           local_level_fit(clean, NULL, s->n).log_likelihood > fixed.log_likelihood;
}

static bool drifts(const struct segmentation *s, const double *clean)
{
    if (s->count > 1)
        return walk_beats(s, clean, steps_fit(clean, s->n, s->segments, s->count).log_likelihood);
    return s->n >= MIN_DRIFT && wanders(s, clean);
}

// Extends the set from `best` towards the likelier side until the mass of first..end-1 reaches the
// confidence.
static void credible(struct change *change, const double *log_mass, size_t first, size_t end,
                     size_t best, double confidence)
{
    double total = 0, mass = 1;
    for (size_t i = first; i < end; i++)
        total += exp(log_mass[i] - log_mass[best]);
    size_t low = best, high = best;
    while (mass < confidence * total && (low > first || high + 1 < end)) {
        double left = low > first ? log_mass[low - 1] : -INFINITY;
        double right = high + 1 < end ? log_mass[high + 1] : -INFINITY;
        mass += exp(fmax(left, right) - log_mass[best]);
        if (left > right)
            low--;
        else
            high++;
    }
    change->earliest = low;
    change->latest = high;
}

// Converts a change from the units of the segmentation to those of the given series.
static void restore(struct change *change, const struct segmentation *s, double half_width)
{
    double size = change->after - change->before;
    change->size = (struct interval){s->scale * size, s->scale * (size - half_width),
                                     s->scale * (size + half_width)};
    change->before = s->centre + s->scale * change->before;
    change->after = s->centre + s->scale * change->after;
    change->index = s->where[change->index];
    change->earliest = s->where[change->earliest];
    change->latest = s->where[change->latest];
}

static void report_steps(struct changepoints *out, const struct segmentation *s)
{
    out->changes = xcalloc(s->count, sizeof(*out->changes));
    for (size_t j = 0; j + 1 < s->count; j++) {
        const struct potts_segment *a = &s->segments[j], *b = a + 1;
        struct change *change = &out->changes[out->count++];
        *change = (struct change){.index = b->first,
                                  .earliest = b->first,
                                  .latest = b->first,
                                  .before = a->level,
                                  .after = b->level,
                                  .evidence = 0.5 * segmentation_score(s, j)};
        restore(change, s, 0);
    }
}

// Finds the starts of lasting levels: jumps that are larger than the wandering and are no short
// visit.
static size_t find_jumps(unsigned char *starts, const struct segmentation *s, const double *clean)
{
    size_t count = 1 + local_level_jumps(starts, clean, s->n, jump_reach(s->n), MAX_JUMPS), j = 0;
    struct potts_segment *segments = xcalloc(count, sizeof(*segments));
    for (size_t t = 1; t < s->n; t++) {
        if (!starts[t])
            continue;
        segments[j].end = t;
        segments[++j].first = t;
    }
    segments[j].end = s->n;
    for (j = 0; j < count; j++)
        segments[j].level = revisit_level(s->y, &segments[j]);
    if (s->n <= FEW)
        count = revisit_drop(s->y, s->n, segments, count);
    memset(starts, 0, s->n);
    for (j = 1; j < count; j++)
        starts[segments[j].first] = 1;
    free(segments);
    return count - 1;
}

static void report_jumps(struct changepoints *out, const struct segmentation *s,
                         const double *clean, double confidence)
{
    unsigned char *starts = xcalloc(s->n, 1);
    double *scores = xcalloc(s->n, sizeof(*scores));
    double reach = normal_quantile(0.5 + 0.5 * confidence);
    size_t most = find_jumps(starts, s, clean);
    out->changes = xcalloc(most, sizeof(*out->changes));
    for (size_t t = 1, before = 0; t < s->n; t++) {
        if (!starts[t])
            continue;
        struct change *change = &out->changes[out->count++];
        size_t end = t + 1;
        while (end < s->n && end < t + NEAR && !starts[end])
            end++;
        starts[t] = 0;
        local_level_scores(scores, clean, starts, s->n);
        starts[t] = 1;
        *change = (struct change){.index = t, .evidence = 0.5 * scores[t]};
        change->before = median_of(clean, t - before > NEAR ? t - NEAR : before, t);
        change->after = median_of(clean, t, end);
        double gap = fabs(change->after - change->before);
        double width = reach * gap / sqrt(fmax(scores[t], 1));
        for (size_t i = 0; i < s->n; i++)
            scores[i] *= 0.5;
        credible(change, scores, before + 1, end, t, confidence);
        restore(change, s, width);
        before = t;
    }
    free(scores);
    free(starts);
}

// The standard deviation of a value. Derived from the value of a unit of cost, the noise could look
// larger than everything that the series does, so it is limited.
static double sigma_of(const struct segmentation *s)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < s->n; i++)
        mean += s->y[i] / (double)s->n;
    for (size_t i = 0; i < s->n; i++)
        squares += (s->y[i] - mean) * (s->y[i] - mean);
    const double all = s->n > 1 ? sqrt(squares / ((double)s->n - 1)) : 0;
    return s->scale * fmin(sqrt(s->variance), all);
}

// Reports clear steps that the segmentation rejected, or could not find because one side is much
// louder and no single noise fits both.
static void report_clear(struct changepoints *out, const struct segmentation *s,
                         const double *values, size_t n, double confidence)
{
    struct change change;
    if (out->count > 1 || !clear_step_find(&change, s->y, s->n, out->count > 0))
        return;
    if (out->count && out->changes[0].evidence >= change.evidence)
        return;
    out->changes = xrealloc(out->changes, 1, sizeof(*out->changes));
    restore(&change, s, 0);
    change_set(&change, values, 0, n, 1, confidence);
    out->changes[0] = change;
    out->count = 1;
}

// Reports values without noise: each run of equal values is a level.
static bool report_runs(struct changepoints *out, const struct segmentation *s)
{
    size_t *starts = xcalloc(s->n / 5 + 1, sizeof(*starts));
    const size_t count = clear_step_runs(starts, s->y, s->n);
    if (count > 0)
        out->changes = xcalloc(count, sizeof(*out->changes));
    for (size_t i = 0; i < count; i++) {
        struct change change = {.index = starts[i], .earliest = starts[i], .latest = starts[i]};
        change.before = s->y[starts[i] - 1];
        change.after = s->y[starts[i]];
        change.evidence = (double)s->n;
        restore(&change, s, 0);
        out->changes[out->count++] = change;
    }
    free(starts);
    return count > 0;
}

static void judge(struct changepoints *out, struct segmentation *s, const double *values, size_t n,
                  double confidence)
{
    double *clean = without_spikes(s);
    if (s->count > 1)
        s->count = steps_prune(clean, s->n, spike_bound(s), s->segments, s->count,
                               step_cost(s, memory_share(s, clean) * doubt_of(s)));
    if (s->n <= FEW)
        s->count = revisit_drop(s->y, s->n, s->segments, s->count);
    // Pruning leaves means, which strays and second modes pull away from most of the values.
    for (size_t j = 0; j < s->count; j++)
        segmentation_level(s, j);
    out->drift = drifts(s, clean);
    if (out->drift)
        report_jumps(out, s, clean, confidence);
    else
        report_steps(out, s);
    free(clean);
    report_clear(out, s, values, n, confidence);
    change_set_all(out, values, n, 0, confidence);
}

// Does what changepoints_find() does, from the n values alone; `options` is not NULL.
static void changepoints_look(struct changepoints *out, const double *values, size_t n,
                              const struct changepoint_options *o)
{
    struct segmentation s;
    segmentation_find(&s, values, n, o->penalty, o->bound);
    *out = (struct changepoints){.used = s.n, .inflation = 1};
    if (s.variance > 0) {
        if (!report_runs(out, &s))
            judge(out, &s, values, n, o->confidence);
        out->sigma = sigma_of(&s);
        out->correlation = s.correlation;
        out->inflation = s.long_run / s.variance;
    }
    segmentation_free(&s);
}

void changepoints_free(struct changepoints *changepoints)
{
    free(changepoints->changes);
    memset(changepoints, 0, sizeof(*changepoints));
}

// ==== looks at more than steps ====
//
// Changes that were certain once are kept. A series is judged as if it had been looked at when it
// had 60 values, and each time it had grown by a fifth. If one of these looks was certain of a
// change, the change is kept even if the newest look does not see it, because noise, memory or walk
// are then fitted to more values. So a change is lost only if it was found between two looks and is
// gone at the next. Certain means 20 nats, or 40 with fewer than 100 values, which cannot show how
// long they remember. More looks, or a lower limit, would keep more changes, but make more than one
// false change in 10,000 values of noise with memory or of noise that becomes louder. Series with
// more than 1,500 values have only one look.
//
// A change that was reported, certain or not, is kept as long as the values next to it support
// it: their mean must move by 4 standard errors in the reported direction, with memory allowed
// for. This counts all values up to the neighbouring changes, or the ten nearest on either side,
// where a wandering level has not left the new value yet. The noise is that of these values;
// each side has its own if that is larger. So a change goes if it turns out to be the beginning
// of a louder stretch.

enum {
    FIRST_LOOK = 60,
    LAST_LOOK = 1500,
    LOOK_MANY = 100,
    APART = 5,
    LOOK_BESIDE = 10,
    LEAST_SIDE = 2,
    PRIOR_VALUES = 4
};
enum { DIRECTLY = 12, LEAST_PAST = 5 };
static const double newest_nats = 5.75, by_chance = 1.5, visit_chance = 7.5e-4, most_nats = 1;
static const double look_growth = 1.2, sure = 20, sure_of_few = 40, least_errors = 4;

static bool listed(const struct changepoints *c, const struct change *change)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct change *other = &c->changes[i];
        if (other->earliest <= change->latest + APART && change->earliest <= other->latest + APART)
            return true;
    }
    return false;
}

static void insert(struct changepoints *now, const struct change *old)
{
    now->changes = xrealloc(now->changes, now->count + 1, sizeof(*now->changes));
    size_t at = now->count++;
    for (; at > 0 && now->changes[at - 1].index > old->index; at--)
        now->changes[at] = now->changes[at - 1];
    now->changes[at] = *old;
}

// Adds what an earlier look at `n` values was sure of, if the newest look does not have it.
static void keep(struct changepoints *now, const struct change *earlier, size_t count, size_t n)
{
    for (size_t i = 0; i < count; i++) {
        const struct change *old = &earlier[i];
        if (old->evidence >= (n < LOOK_MANY ? sure_of_few : sure) && !listed(now, old))
            insert(now, old);
    }
}

// The values beside a change: up to the next change on either side, or to an end of the series.
struct values_beside {
    size_t first, end;
};

static void narrow(struct values_beside *beside, const struct change *c,
                   const struct changepoints *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const size_t other = list->changes[i].index;
        if (other < c->index && other > beside->first)
            beside->first = other;
        if (other > c->index && other < beside->end)
            beside->end = other;
    }
}

struct change_side {
    double mean, squares, count;
};

static struct change_side side_of(const double *values, size_t first, size_t end)
{
    struct change_side s = {0, 0, 0};
    for (size_t i = first; i < end; i++) {
        if (!isfinite(values[i]))
            continue;
        const double gap = values[i] - s.mean;
        s.mean += gap / ++s.count;
        s.squares += gap * (values[i] - s.mean);
    }
    return s;
}

// A side's own variance, moderated by the common scatter, because few values tell little.
static double own_variance(struct change_side s, double scatter)
{
    return (s.squares + PRIOR_VALUES * scatter) / (s.count - 1 + PRIOR_VALUES);
}

// By how many standard errors the level moved in the reported direction, from at most `reach`
// values on either side. Too few values do not speak against the change.
static double errors_within(const double *values, struct values_beside beside,
                            const struct change *c, size_t reach, double inflation)
{
    const size_t first = c->index - beside.first > reach ? c->index - reach : beside.first;
    const size_t end = beside.end - c->index > reach ? c->index + reach : beside.end;
    const struct change_side a = side_of(values, first, c->index),
                             b = side_of(values, c->index, end);
    if (a.count < LEAST_SIDE || b.count < LEAST_SIDE)
        return INFINITY;
    const double gap = c->after > c->before ? b.mean - a.mean : a.mean - b.mean;
    const double scatter = (a.squares + b.squares) / (a.count + b.count - 2);
    const double pooled = scatter * (1 / a.count + 1 / b.count);
    const double own = own_variance(a, scatter) / a.count + own_variance(b, scatter) / b.count;
    const double error = sqrt(fmax(own, pooled) * inflation);
    return error > 0 ? gap / error : gap > 0 ? INFINITY : -INFINITY;
}

static double errors_of(const struct change *c, const struct changepoints *now,
                        const struct changepoints *kept, const double *values, size_t n)
{
    struct values_beside beside = {0, n};
    narrow(&beside, c, now);
    narrow(&beside, c, kept);
    return fmax(errors_within(values, beside, c, n, now->inflation),
                errors_within(values, beside, c, LOOK_BESIDE, 1));
}

// Drops the changes that the values support least, until they support the rest.
static void drop_refuted(struct changepoints *kept, const struct changepoints *now,
                         const double *values, size_t n)
{
    while (kept->count > 0) {
        size_t weakest = 0;
        double least = INFINITY;
        for (size_t i = 0; i < kept->count; i++) {
            const double errors = errors_of(&kept->changes[i], now, kept, values, n);
            if (errors < least)
                least = errors, weakest = i;
        }
        if (least >= least_errors)
            return;
        memmove(kept->changes + weakest, kept->changes + weakest + 1,
                (--kept->count - weakest) * sizeof(*kept->changes));
    }
}

// ---- values since the last change ----
//
// Finds one step among the values since the last change, where a segmentation of so few values sees
// none. It is a likelihood ratio with memory, and the values must neither stray to the new level
// elsewhere nor walk. The rule is the same for any number of values on either side.

// The finite values since the last change, relative to the first of them and in units of the
// largest distance, so that numbers cannot overflow; with the sums of the first i values and of
// their squares.
struct latest {
    double *y, *sum, *square, centre, scale;
    size_t *where, n;
};

static struct latest latest_of(const double *values, size_t n, const struct changepoints *found)
{
    const size_t first = found->count ? found->changes[found->count - 1].index : 0;
    const size_t room = n - first + 1;
    double *memory = xcalloc(3 * room, sizeof(*memory));
    struct latest l = {.y = memory,
                       .sum = memory + room,
                       .square = memory + 2 * room,
                       .where = xcalloc(room, sizeof(*l.where))};
    for (size_t i = first; i < n; i++) {
        if (!isfinite(values[i]))
            continue;
        l.centre = l.n ? l.centre : values[i];
        l.y[l.n] = values[i] - l.centre;
        l.scale = fmax(l.scale, fabs(l.y[l.n]));
        l.where[l.n++] = i;
    }
    for (size_t i = 0; i < l.n; i++) {
        l.y[i] /= l.scale > 0 ? l.scale : 1;
        l.sum[i + 1] = l.sum[i] + l.y[i];
        l.square[i + 1] = l.square[i] + l.y[i] * l.y[i];
    }
    return l;
}

static struct change_side side_between(const struct latest *l, size_t first, size_t end)
{
    const double count = (double)(end - first), sum = l->sum[end] - l->sum[first];
    return (struct change_side){
        sum / count, fmax(0, l->square[end] - l->square[first] - sum * sum / count), count};
}

// The variance of a value, from the values directly before `at`: their mean distance from their
// median, which a single stray changes little.
static double scatter_before(const struct latest *l, size_t at)
{
    const size_t count = at < DIRECTLY ? at : DIRECTLY;
    const double *y = l->y + at - count;
    double work[DIRECTLY], away = 0;
    memcpy(work, y, count * sizeof(*work));
    const double median = robust_median(work, count);
    for (size_t i = 0; i < count; i++)
        away += fabs(y[i] - median) / (double)count;
    return away * away * M_PI / 2; // for normal values
}

// How many times more one side scatters than all values do, beyond what chance does to a single
// noise. Scatter is no movement: if the newest values, or those just before them, are louder than
// the past, a step must be larger than that scatter.
static double louder(const struct latest *l, size_t at, struct change_side a, struct change_side b)
{
    const double all = (a.squares + b.squares) / (double)l->n;
    const double scatter = fmax(all, scatter_before(l, at));
    const double own = own_variance(a, scatter) / a.count + own_variance(b, scatter) / b.count;
    const double most = fmax(scatter, own / (1 / a.count + 1 / b.count));
    return fmax(1, most / all / by_chance); // NaN if all values are equal, which gives 1
}

// The nats for a step at `at` in noise without memory, used to choose `at`.
static double nats(const struct latest *l, size_t at, struct change_side a, struct change_side b)
{
    const double n = (double)l->n, gap = b.mean - a.mean, count = a.count * b.count / n;
    const double error = (a.squares + b.squares) * louder(l, at, a, b);
    const double gain = error > 0 ? log1p(gap * gap * count / error) : gap != 0 ? INFINITY : 0;
    return ((n - 1) * gain - log(count)) / 2;
}

// Whether earlier values strayed to the level of the newest ones so often that this explains them;
// then they are a short visit.
static bool strays_there(const struct latest *l, size_t at, struct change_side a,
                         struct change_side b)
{
    const double middle = (a.mean + b.mean) / 2, up = b.mean > a.mean ? 1 : -1;
    double before = 0, after = 0;
    for (size_t i = 0; i < l->n; i++) {
        const bool there = up * (l->y[i] - middle) > 0;
        before += i < at && there;
        after += i < at ? 0 : there ? 1 : -1;
    }
    return after * log((a.count + 1) / (before + 0.5)) < log(1 / visit_chance);
}

// How much better a step explains the values than memory or a random walk in noise does.
static double nats_of_step(const struct latest *l, size_t at)
{
    const struct change_side a = side_between(l, 0, at), b = side_between(l, at, l->n);
    const double walk = local_level_fit(l->y, NULL, l->n).log_likelihood;
    return memory_step(l->y, l->n, at, louder(l, at, a, b)) -
           fmax(walk, memory_step(l->y, l->n, 0, 1));
}

// Adds a step since the last change that nothing else has reported.
static void add_newest(struct changepoints *now, const double *values, size_t n, double confidence)
{
    struct latest l = latest_of(values, n, now);
    double most = newest_nats;
    size_t best = 0;
    for (size_t at = l.n; at-- > LEAST_PAST;) {
        if (l.n - at < LEAST_SIDE)
            continue;
        const struct change_side a = side_between(&l, 0, at), b = side_between(&l, at, l.n);
        const double gain = nats(&l, at, a, b);
        if (gain > most && !strays_there(&l, at, a, b))
            most = gain, best = at;
    }
    const double sure_by = best > 0 ? nats_of_step(&l, best) : 0;
    if (sure_by > newest_nats) {
        const size_t index = l.where[best];
        const double before = l.centre + l.scale * side_between(&l, 0, best).mean;
        const double after = l.centre + l.scale * side_between(&l, best, l.n).mean;
        struct change step = {.index = index,
                              .earliest = index,
                              .latest = index,
                              .before = before,
                              .after = after,
                              .size = {after - before, after - before, after - before},
                              .evidence = fmin(sure_by, (double)l.n * most_nats)};
        change_set(&step, values, l.where[0], n, 1, confidence);
        insert(now, &step);
    }
    free(l.y);
    free(l.where);
}

// After a loud start, a clear step may be small compared with the loud values. So the values since
// the noise became calm are also examined alone. Returns where they begin; 0: there are none.
static size_t add_calm(struct changepoints *now, const double *values, size_t n,
                       const struct changepoint_options *o)
{
    const size_t calm = shape_calm(values, n, now);
    struct changepoints later = {0};
    if (calm > 0)
        changepoints_look(&later, values + calm, n - calm, o);
    for (size_t i = 0; i < later.count; i++) {
        struct change c = later.changes[i];
        c.index += calm, c.earliest += calm, c.latest += calm;
        if (!listed(now, &c))
            insert(now, &c);
    }
    changepoints_free(&later);
    return calm;
}

// Adds reported changes that were not found now, if the values support them.
static void add_reported(struct changepoints *out, const double *values, size_t n,
                         const struct change *earlier, size_t count)
{
    struct changepoints kept = {0};
    for (size_t i = 0; i < count; i++) {
        if (!listed(out, &earlier[i]))
            insert(&kept, &earlier[i]);
    }
    drop_refuted(&kept, out, values, n);
    for (size_t i = 0; i < kept.count; i++)
        insert(out, &kept.changes[i]);
    changepoints_free(&kept);
}

// Looks at the series at each of its earlier lengths, and keeps the changes that those looks were
// sure of.
static void look_back(struct changepoints *kept, size_t *at, const double *values, size_t n,
                      const struct changepoint_options *o)
{
    struct changepoints next;
    for (double length = FIRST_LOOK; n <= LAST_LOOK && length < (double)n; length *= look_growth) {
        changepoints_look(&next, values, (size_t)length, o);
        keep(&next, kept->changes, kept->count, *at);
        changepoints_free(kept);
        *kept = next;
        *at = (size_t)length;
    }
}

// The changes that were found when the series had its first `n` values only.
struct earlier {
    const struct change *changes;
    size_t count, n;
};

// Keeps the changes of `seen` that are certain enough, and those of `reported` that
// the values support.
static void find(struct changepoints *out, const double *values, size_t n,
                 const struct changepoint_options *o, struct earlier seen, struct earlier reported)
{
    changepoints_look(out, values, n, o);
    keep(out, seen.changes, seen.count, seen.n);
    add_reported(out, values, n, reported.changes, reported.count);
    const size_t calm = add_calm(out, values, n, o);
    add_newest(out, values, n, o->confidence);
    change_set_all(out, values, n, calm, o->confidence);
}

// The values without their pattern. The caller frees.
static double *without_pattern(struct pattern *pattern, const double *values, size_t n)
{
    double *rest = xcalloc(n + 1, sizeof(*rest));
    for (size_t i = 0; i < n; i++) // a series without values has no array
        rest[i] = values[i];
    *pattern = pattern_take_off(rest, n);
    return rest;
}

static void find_all(struct changepoints *out, const double *values, size_t n,
                     const struct changepoint_options *o, struct earlier reported)
{
    struct changepoints sure_of = {0};
    struct pattern pattern;
    double *rest = without_pattern(&pattern, values, n);
    size_t before = 0;
    look_back(&sure_of, &before, rest, n, o);
    find(out, rest, n, o, (struct earlier){sure_of.changes, sure_of.count, before}, reported);
    out->pattern = pattern;
    changepoints_free(&sure_of);
    free(rest);
}

void changepoints_find(struct changepoints *out, const double *values, size_t n,
                       const struct changepoint_options *options)
{
    find_all(out, values, n, options ? options : &changepoint_defaults,
             (struct earlier){NULL, 0, 0});
}

void changepoints_more(struct changepoints *out, const double *values, size_t n,
                       const struct change *earlier, size_t count)
{
    find_all(out, values, n, &changepoint_defaults, (struct earlier){earlier, count, n});
}

void changepoints_again(struct changepoints *out, const double *values, size_t n,
                        const struct change *earlier, size_t count)
{
    const struct earlier told = {earlier, count, n};
    struct pattern pattern;
    double *rest = without_pattern(&pattern, values, n);
    find(out, rest, n, &changepoint_defaults, told, told);
    out->pattern = pattern;
    free(rest);
}
