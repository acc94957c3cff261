// SPDX-License-Identifier: Apache-2.0
//
// Gate rules of other tools, written from their descriptions. They are compared with and never
// used.
#include "tests/helpers/helper_peers.h"

#include "model/gate/gate.h"
#include "model/robust.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct moments {
    double mean, variance; // unbiased
};

static struct moments moments_of(const double *values, size_t count)
{
    struct moments m = {0, 0};
    for (size_t i = 0; i < count; i++)
        m.mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        m.variance += (values[i] - m.mean) * (values[i] - m.mean) / (double)(count - 1);
    return m;
}

static int rising(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double *sorted(const double *values, size_t count)
{
    double *copy = xcalloc(count, sizeof(*copy));
    memcpy(copy, values, count * sizeof(*copy));
    qsort(copy, count, sizeof(*copy), rising);
    return copy;
}

static double quantile(const double *ordered, size_t count, double q)
{
    double at = q * (double)(count - 1);
    size_t below = (size_t)at;
    double above = below + 1 < count ? ordered[below + 1] : ordered[below];
    return ordered[below] + (at - (double)below) * (above - ordered[below]);
}

static double median_of(const double *values, size_t count)
{
    double *ordered = sorted(values, count), median = quantile(ordered, count, 0.5);
    free(ordered);
    return median;
}

// -log10 of a two-sided p-value; p = 0 counts as 1e-300.
static double minus_log10(double p)
{
    return -log10(fmax(p, 1e-300));
}

double student_cdf(double t, double degrees)
{
    double tail = 0.5 * incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + t * t));
    return t > 0 ? 1 - tail : tail;
}

static double student_score(double t, double degrees)
{
    if (isnan(t))
        return 0;
    return minus_log10(2 * student_cdf(-fabs(t), degrees));
}

// nvbench-compare before 2026: relative difference of means against the smaller relative SD.
static double nvbench_legacy(const struct peer_data *d)
{
    struct moments a = moments_of(d->base, d->count), b = moments_of(d->head, d->count);
    double noise = fmin(sqrt(a.variance) / a.mean, sqrt(b.variance) / b.mean);
    return fabs(b.mean - a.mean) / a.mean / fmax(noise, 1e-12);
}

// nvbench-compare-robust: [min, third quartile] disjoint, with a relative gap.
static double nvbench_robust(const struct peer_data *d)
{
    double *a = sorted(d->base, d->count), *b = sorted(d->head, d->count);
    double a_q3 = quantile(a, d->count, 0.75), b_q3 = quantile(b, d->count, 0.75);
    double gap = fmax(b[0] / a_q3, a[0] / b_q3) - 1;
    free(a);
    free(b);
    return gap;
}

static double welch(const struct peer_data *d)
{
    struct moments a = moments_of(d->base, d->count), b = moments_of(d->head, d->count);
    double n = (double)d->count, va = a.variance / n, vb = b.variance / n;
    double degrees = (va + vb) * (va + vb) / ((va * va + vb * vb) / (n - 1));
    return student_score((b.mean - a.mean) / sqrt(va + vb), degrees);
}

// Otava's t: pooled variance from population SDs, 2n - 2 degrees of freedom.
static double hunter(const struct peer_data *d)
{
    struct moments a = moments_of(d->base, d->count), b = moments_of(d->head, d->count);
    double n = (double)d->count, shrink = (n - 1) / n;
    double pooled = shrink * (a.variance + b.variance) / 2;
    return student_score((b.mean - a.mean) / sqrt(2 * pooled / n), 2 * n - 2);
}

struct ranked {
    double value;
    bool head;
};

static int by_value(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

// Normal approximation with ties and continuity correction.
static double mann_whitney(const struct peer_data *d)
{
    size_t total = 2 * d->count;
    struct ranked *all = xcalloc(total, sizeof(*all));
    for (size_t i = 0; i < d->count; i++) {
        all[2 * i] = (struct ranked){d->base[i], false};
        all[2 * i + 1] = (struct ranked){d->head[i], true};
    }
    qsort(all, total, sizeof(*all), by_value);
    double rank_sum = 0, ties = 0;
    for (size_t from = 0, end; from < total; from = end) {
        for (end = from + 1; end < total && all[end].value <= all[from].value;)
            end++;
        double same = (double)(end - from), rank = 0.5 * (double)(from + 1 + end);
        ties += same * same * same - same;
        for (size_t i = from; i < end; i++)
            rank_sum += all[i].head ? rank : 0;
    }
    free(all);
    double n = (double)d->count, N = 2 * n, u = rank_sum - n * (n + 1) / 2;
    double variance = n * n / 12 * ((N + 1) - ties / (N * (N - 1)));
    double z = fmax(0, fabs(u - n * n / 2) - 0.5) / sqrt(variance);
    return variance > 0 ? minus_log10(2 * normal_cdf(-z)) : 0;
}

static double fixed_gate(const struct peer_data *d)
{
    return fabs(median_of(d->head, d->count) / median_of(d->base, d->count) - 1);
}

// LNT: minimum of the samples; at least 1 %, Mann-Whitney below 0.05, and 2.576 SD. Its floor of
// 10 ms is left out: it would hide every kernel.
static double lnt(const struct peer_data *d)
{
    double *a = sorted(d->base, d->count), *b = sorted(d->head, d->count);
    double change = fabs(b[0] - a[0]), relative = change / a[0];
    free(a);
    free(b);
    bool ranks_differ = mann_whitney(d) > -log10(0.05);
    bool beyond = change > 2.576 * sqrt(moments_of(d->base, d->count).variance);
    return ranks_differ && beyond ? relative : 0;
}

static double *log_ratios(const struct peer_data *d)
{
    double *y = xcalloc(d->count, sizeof(*y));
    for (size_t i = 0; i < d->count; i++)
        y[i] = log(d->head[i] / d->base[i]);
    return y;
}

static double paired_t(const struct peer_data *d)
{
    double *y = log_ratios(d), n = (double)d->count;
    struct moments m = moments_of(y, d->count);
    free(y);
    return student_score(m.mean / sqrt(m.variance / n), n - 1);
}

// Yuen's t on the log ratios, 10 % off each side.
static double paired_trimmed_t(const struct peer_data *d)
{
    double *y = log_ratios(d);
    struct robust_mean m = robust_mean(y, d->count);
    free(y);
    return student_score(m.mean / m.se, (double)(d->count - 2 * (d->count / 10)) - 1);
}

const struct peer peers[] = {
    {"nvbench legacy", "difference of means > smaller SD", 1, false, nvbench_legacy},
    {"nvbench robust", "[min, q3] disjoint by 0.5 %", 0.005, false, nvbench_robust},
    {"Welch t", "p < 1e-3", 3, false, welch},
    {"Mann-Whitney", "p < 1e-3", 3, false, mann_whitney},
    {"Hunter's t", "p < 1e-3, population SD", 3, false, hunter},
    {"2 % gate", "medians differ by 2 %", 0.02, false, fixed_gate},
    {"LNT", "minimum by 1 %, ranks, 2.576 SD", 0.01, false, lnt},
    {"paired t", "p < 1e-3 on log ratios", 3, true, paired_t},
    {"paired trimmed t", "p < 1e-3 on log ratios", 3, true, paired_trimmed_t},
};
const size_t peer_count = ARRAY_COUNT(peers);

const struct peer *peer_find(const char *name)
{
    for (size_t i = 0; i < peer_count; i++) {
        if (strcmp(peers[i].name, name) == 0)
            return &peers[i];
    }
    return NULL;
}

double rate_lower(uint64_t hits, uint64_t trials, double confidence)
{
    return 1 - study_rate_upper(trials - hits, trials, confidence);
}

struct scored {
    double score;
    bool changed;
};

static int by_falling_score(const void *left, const void *right)
{
    const struct scored *a = left, *b = right;
    return (a->score < b->score) - (a->score > b->score);
}

static size_t collect_scores(struct scored *out, const double *scores, size_t count, bool changed)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (struct scored){isnan(scores[i]) ? -INFINITY : scores[i], changed};
    return count;
}

size_t roc_points(struct roc_point *out, const double *null_scores, size_t nulls,
                  const double *changed_scores, size_t changes)
{
    assert(nulls > 0 && changes > 0);
    struct scored *all = xcalloc(nulls + changes, sizeof(*all));
    size_t total = collect_scores(all, null_scores, nulls, false);
    total += collect_scores(all + total, changed_scores, changes, true);
    qsort(all, total, sizeof(*all), by_falling_score);
    size_t points = 0, false_hits = 0, true_hits = 0;
    out[points++] = (struct roc_point){INFINITY, 0, 0};
    for (size_t i = 0; i < total; i++) {
        true_hits += all[i].changed;
        false_hits += !all[i].changed;
        if (i + 1 < total && all[i + 1].score >= all[i].score)
            continue; // one point per threshold
        out[points++] = (struct roc_point){all[i].score, (double)false_hits / (double)nulls,
                                           (double)true_hits / (double)changes};
    }
    free(all);
    return points;
}

double roc_area(const struct roc_point *points, size_t count)
{
    double area = 0;
    for (size_t i = 1; i < count; i++)
        area += 0.5 * (points[i].false_rate - points[i - 1].false_rate) *
                (points[i].true_rate + points[i - 1].true_rate);
    return area;
}
