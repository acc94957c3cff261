// SPDX-License-Identifier: Apache-2.0
//
// The steps of model/history/segmentation.h must each gain more than noise that remembers would
// have cost (model/history/memory.h), and in short series hold more than values that others stray
// to (model/history/revisit_test.h). Then they are held against a random walk in noise fitted to
// the whole series, with the jumps that stand out of it (model/history/local_level.h). Where the
// walk explains it better, or where the values follow each other so closely that segmentation
// cannot tell, the series drifts, and only those jumps are reported. All likelihoods are
// conditional on the first value and take their variance from the data; steps and jumps pay for
// each change.
//
// The credible set of a step is change_set.c's; that of a jump comes from the squared statistics of
// a jump at each index.
#include "model/history/changepoint.h"

#include "model/base.h"
#include "model/history/change_set.h"
#include "model/history/changepoint_look.h"
#include "model/history/clear_step.h"
#include "model/history/local_level.h"
#include "model/history/memory.h"
#include "model/history/noise.h"
#include "model/history/revisit_test.h"
#include "model/history/segmentation.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct changepoint_options changepoint_defaults = {
    .penalty = 15, .bound = 3, .confidence = CONFIDENCE};

enum {
    MAX_JUMPS = 32,
    NEAR = 5,       // values whose median is the level next to a jump
    MIN_CALM = 60,  // fewer values cannot show that there is no memory
    MIN_DRIFT = 16, // fewer values cannot be told to drift
    BESIDE = 250,   // values on either side of a step that show its noise
    FEW = 60,       // values; with more, strays are among the residuals (model/history/loss.h)
    MANY = 500,     // values; a jump among more does not make a walk unlikely
};
// What a step costs in nats when models are compared, as a share of the penalty: in noise that may
// well wander, and in noise that shows no memory.
static const double doubtful_share = 0.7, calm_share = 0.2;
static const double remembered_share = 0.5;      // against memory of a level that stays
static const double close_share = 0.8;           // against memory as long as a walk's may seem
static const double doubtful_correlation = 0.15; // and fewer values than MIN_CALM, whatever it is
static const double wander_correlation = 0.7;    // with less there is nothing to ask
static const double dickey_fuller = -14;
static const double jump_threshold = 4.5; // standard deviations; a normal walk: 0.07 in 10^4 values

// ---- how likely values are as steps in noise whose neighbours resemble each other ----

struct steps_fit {
    double log_likelihood; // given the first value, maximised, up to -(n/2) log 2 pi
    double correlation;    // lag 1
};

static double mean(const double *values, const struct potts_segment *segment)
{
    double sum = 0;
    for (size_t i = segment->first; i < segment->end; i++)
        sum += values[i];
    return sum / (double)(segment->end - segment->first);
}

// The noise's scale and memory are fitted together with the steps. Levels are the means of the
// segments, which cover the n values in order; n >= 2.
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

// What the step between segments j and j + 1 gains among the values around it.
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

// Joins neighbours, least loss first, until every step gains more than `cost` nats among the BESIDE
// values on either side of it, where none counts as further than `bound` from its own level. Sets
// the levels to the means and returns how many segments are left.
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

// Values with isolated outliers replaced by their neighbourhood's median; shifts stay as they are.
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

// More in short series, whose variance is vague.
static double step_cost(const struct segmentation *s, double share)
{
    return share * s->penalty * (1 + 3 / (double)s->n);
}

// Wider for few values, whose scale is uncertain, as in segmentation.c.
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
    // A walk that needs as many jumps as the other model has steps explains no more than that one.
    return jumps + 1 < s->count && walk - step_cost(s, share) * (double)jumps > steps - cost;
}

// What a step costs, as a share, beside memory: more where values follow each other as closely as
// those of a walk may, which stay near a level for long.
static double memory_share(const struct segmentation *s, const double *clean)
{
    const struct potts_segment all = {0, s->n, 0};
    const bool close = steps_fit(clean, s->n, &all, 1).correlation >= wander_correlation;
    return close ? close_share : remembered_share;
}

// No steps: a wandering level is told from long memory about a fixed one by the same likelihoods,
// and by Dickey and Fuller's test, "Distribution of the estimators for autoregressive time series
// with a unit root" (1979): n (r - 1) below -14 rejects a random walk at 5 %.
static bool wanders(const struct segmentation *s, const double *clean)
{
    if (segmentation_wanders(s) || s->suspect)
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

// Grows from `best` to the likelier side until the mass of first..end-1 reaches the confidence.
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

// From the units of the segmentation to those of the series as given.
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

// Starts of a level that lasts: what stands out of the wandering but is no visit.
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

// What a unit of cost is worth can make the noise look larger than all that the series does.
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

// What the segmentation did not believe, or did not know where to look for: where one side is much
// louder, no noise fits both.
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

// Values without noise: each run of equal ones is a level.
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
    // Pruning leaves means, which strays and second modes pull away from where most values lie.
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

void changepoints_look(struct changepoints *out, const double *values, size_t n,
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
        out->inflation = segmentation_inflation(&s);
    }
    segmentation_free(&s);
}

void changepoints_free(struct changepoints *changepoints)
{
    free(changepoints->changes);
    memset(changepoints, 0, sizeof(*changepoints));
}
