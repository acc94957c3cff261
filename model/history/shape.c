// SPDX-License-Identifier: Apache-2.0
//
// Looks for other changes of a series. Each question has one statistic and a limit of 4 to 6
// standard errors, because every series is asked and hardly any should be reported.
//
// Creep: a least-squares line over the index. The error of its slope is increased by the largest
// memory that the residuals allow; if they remember as long as a walk, there is no creep. Spread:
// the sum of the squared ranks of absolute residuals, at the split where it is most unusual.
// Share of a mode: values are split in two at the largest gain in squares (Otsu, "A threshold
// selection method from gray-level histograms", 1979). They are modes if their means are more
// than four times their inner scatter apart. Then the share of the upper mode is examined in the
// same way as the spread.
#include "model/history/shape.h"

#include "model/base.h"
#include "model/history/changepoint.h"
#include "model/history/segmentation.h"
#include "model/robust.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

// ---- creep ----
//
// A test for many small changes that add up, against the last accepted level. Single steps are
// found by changepoint.c.

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

// With fewer values, the ranks of eight values alone could be as unusual as required.
enum { LEAST = 30, SIDE = 15, LOUD_SIDE = 8 };

static const double creep_errors = 4.5, spread_errors = 4.4, share_errors = 5, walk_memory = 0.6;

static const double loud_ratio = 1.5, modes_apart = 4;

struct kept_values {
    double *value, *rest; // as given, and without the level of its segment
    size_t *where;
    size_t n;
};

static struct kept_values keep_finite(const double *values, size_t n,
                                      const struct changepoints *found)
{
    struct kept_values k = {xcalloc(n, sizeof(double)), xcalloc(n, sizeof(double)),
                            xcalloc(n, sizeof(size_t)), 0};
    double *work = xcalloc(n, sizeof(*work));
    for (size_t j = 0, first = 0; j <= found->count; j++) {
        const size_t end = j < found->count ? found->changes[j].index : n, begin = k.n;
        for (size_t i = first; i < end; i++) {
            if (!isfinite(values[i]))
                continue;
            work[k.n - begin] = k.value[k.n] = values[i];
            k.where[k.n++] = i;
        }
        const double level = robust_median(work, k.n - begin);
        for (size_t i = begin; i < k.n; i++)
            k.rest[i] = k.value[i] - level;
        first = end;
    }
    free(work);
    return k;
}

// Finds where the mean of x differs most, and by how many standard errors. Memory within the sides
// increases the errors.
static size_t split(double *errors, const double *x, size_t n, size_t side)
{
    double all = 0, squares = 0, left = 0, left_squares = 0, most = 0, cross = 0;
    size_t best = 0;
    for (size_t i = 0; i < n; i++)
        all += x[i], squares += x[i] * x[i];
    for (size_t at = 1; at + side <= n; at++) {
        left += x[at - 1], left_squares += x[at - 1] * x[at - 1];
        if (at < side)
            continue;
        const double na = (double)at, nb = (double)(n - at), right = all - left;
        // The scatter about both means together, because a side of few values may show none.
        const double rest = squares - left * left / na - right * right / nb;
        const double error = sqrt(fmax(rest, 0) / (na + nb - 2) * (1 / na + 1 / nb));
        const double z = error > 0 ? fabs(left / na - right / nb) / error : 0;
        if (z > most)
            most = z, best = at;
    }
    *errors = 0;
    if (best == 0)
        return 0;
    double mean[2] = {0, 0}, rest = 0;
    for (size_t i = 0; i < n; i++)
        mean[i >= best] += x[i] / (double)(i < best ? best : n - best);
    for (size_t i = 0; i < n; i++) {
        const double now = x[i] - mean[i >= best];
        rest += now * now;
        cross += i > 0 ? now * (x[i - 1] - mean[i > best]) : 0;
    }
    const double memory = rest > 0 ? fmax(cross / rest, 0) + 1 / sqrt((double)n) : 0;
    *errors = most / sqrt(noise_inflation(fmin(memory, 0.9)));
    return best;
}

// The least-squares line over the index, and what is left about it.
struct line {
    double slope, squares, cross; // cross: the sum of the products of neighbours
};

static struct line line_of(const struct kept_values *k)
{
    const double n = (double)k->n, middle = (n - 1) / 2;
    struct line line = {0, 0, 0};
    double level = 0, before = 0;
    for (size_t i = 0; i < k->n; i++) {
        level += k->value[i] / n;
        line.slope += ((double)i - middle) * k->value[i] / (n * (n * n - 1) / 12);
    }
    for (size_t i = 0; i < k->n; i++) {
        const double rest = k->value[i] - level - line.slope * ((double)i - middle);
        line.squares += rest * rest;
        line.cross += i > 0 ? rest * before : 0;
        before = rest;
    }
    return line;
}

static void ask_creep(struct shape *out, const struct kept_values *k, double confidence)
{
    const struct line l = line_of(k);
    const double n = (double)k->n;
    const double memory = l.squares > 0 ? fmax(l.cross / l.squares, 0) + 1 / sqrt(n) : 0;
    const double error =
        sqrt(l.squares / (n - 2) * 12 / (n * (n * n - 1)) * noise_inflation(fmin(memory, 0.9)));
    out->creeps = memory < walk_memory && fabs(l.slope) > creep_errors * error;
    out->creep = interval_about(l.slope * (n - 1),
                                error * (n - 1) * normal_quantile(0.5 + 0.5 * confidence));
}

// Whether the changes all go one way, and a straight line explains them no worse than so many
// levels do. Schwarz's criterion decides: a level and a place for each change against one slope.
static bool is_line(const struct kept_values *k, const struct changepoints *found)
{
    const double n = (double)k->n, line = line_of(k).squares;
    double steps = 0;
    bool one_way = found->count > 0;
    for (size_t i = 1; i < found->count; i++)
        one_way &= (found->changes[i].size.value > 0) == (found->changes[0].size.value > 0);
    for (size_t i = 0; i < k->n; i++)
        steps += k->rest[i] * k->rest[i];
    const double more = 2 * (double)found->count - 1; // number of parameters
    return one_way && line > 0 && n * log(line / steps) < more * log(n);
}

static double spread_of(const double *rest, size_t n)
{
    double *work = xcalloc(n, sizeof(*work));
    for (size_t i = 0; i < n; i++)
        work[i] = rest[i];
    const double sd = robust_sd(work, n);
    free(work);
    return sd;
}

struct amount {
    double value;
    size_t index;
};

static int by_amount(const void *left, const void *right)
{
    return rising_doubles(&((const struct amount *)left)->value,
                          &((const struct amount *)right)->value);
}

// The squared ranks (after Mood 1954) of how far the values lie from their levels. Ranks, because
// the size of the largest distances should not matter.
static double *ranks_of(const double *rest, size_t n)
{
    struct amount *order = xcalloc(n, sizeof(*order));
    double *ranks = xcalloc(n, sizeof(*ranks));
    for (size_t i = 0; i < n; i++)
        order[i] = (struct amount){fabs(rest[i]), i};
    qsort(order, n, sizeof(*order), by_amount);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && !(order[end].value > order[first].value);)
            end++;
        for (size_t i = first; i < end; i++)
            ranks[order[i].index] = pow(0.5 * (double)(first + end) / (double)n, 2);
    }
    free(order);
    return ranks;
}

static void ask_spread(struct shape *out, const struct kept_values *k)
{
    double *ranks = ranks_of(k->rest, k->n), errors;
    const size_t at = split(&errors, ranks, k->n, LOUD_SIDE);
    free(ranks);
    if (at == 0 || errors < spread_errors)
        return;
    out->spread_before = spread_of(k->rest, at);
    out->spread_after = spread_of(k->rest + at, k->n - at);
    const double more = fmax(out->spread_before, out->spread_after);
    const double less = fmin(out->spread_before, out->spread_after);
    out->louder = more > loud_ratio * less;
    out->louder_at = k->where[at];
}

size_t shape_calm(const double *values, size_t n, const struct changepoints *found)
{
    struct shape shape = {0};
    struct kept_values k = keep_finite(values, n, found);
    // Uses differences, which do not need levels, because not all levels are found yet.
    for (size_t i = k.n; i-- > 0;)
        k.rest[i] = i ? k.value[i] - k.value[i - 1] : 0;
    if (k.n >= LEAST && found->sigma > 0)
        ask_spread(&shape, &k);
    free(k.value);
    free(k.rest);
    free(k.where);
    return shape.louder && shape.spread_before > shape.spread_after ? shape.louder_at : 0;
}

// The middle between two modes; NaN where there are none.
static double modes_of(const double *rest, size_t n)
{
    double *sorted = xcalloc(n, sizeof(*sorted)), all = 0, squares = 0, left = 0, most = 0;
    size_t best = 0;
    for (size_t i = 0; i < n; i++)
        sorted[i] = rest[i], all += rest[i], squares += rest[i] * rest[i];
    robust_sort(sorted, n);
    for (size_t at = 1; at < n; at++) {
        left += sorted[at - 1];
        const double na = (double)at, nb = (double)(n - at);
        const double gain = pow(left / na - (all - left) / nb, 2) * na * nb / (na + nb);
        if (gain > most)
            most = gain, best = at;
    }
    double low = 0, high = 0, between = NAN;
    for (size_t i = 0; i < n; i++)
        *(i < best ? &low : &high) += sorted[i] / (double)(i < best ? best : n - best);
    const double within = squares - all * all / (double)n - most;
    if (best > 0 && high - low > modes_apart * sqrt(fmax(within, 0) / (double)n) &&
        sorted[best] - sorted[best - 1] > 0)
        between = 0.5 * (low + high);
    free(sorted);
    return between;
}

static void ask_share(struct shape *out, const struct kept_values *k)
{
    const double between = modes_of(k->value, k->n);
    double *upper = xcalloc(k->n, sizeof(*upper)), errors;
    for (size_t i = 0; i < k->n; i++)
        upper[i] = k->value[i] > between;
    const size_t at = isfinite(between) ? split(&errors, upper, k->n, SIDE) : 0;
    if (at > 0 && errors > share_errors) {
        double share[2] = {0, 0};
        for (size_t i = 0; i < k->n; i++)
            share[i >= at] += upper[i] / (double)(i < at ? at : k->n - at);
        // A move from one level to another is a change of level, which is listed elsewhere.
        const double rare = fmin(fmin(share[0], 1 - share[0]), fmin(share[1], 1 - share[1]));
        const double most = fmax(fmin(share[0], 1 - share[0]), fmin(share[1], 1 - share[1]));
        out->shifts = most > 0.05 && rare >= 0;
        out->share_before = share[0];
        out->share_after = share[1];
        out->between = between;
        out->shifts_at = k->where[at];
    }
    free(upper);
}

void shape_find(struct shape *out, const double *values, size_t n, const struct changepoints *found,
                double confidence)
{
    *out = (struct shape){0};
    struct kept_values k = keep_finite(values, n, found);
    if (k.n >= LEAST && found->sigma > 0) {
        if (!found->drift)
            ask_share(out, &k);
        if ((found->count == 0 && !out->shifts) || is_line(&k, found))
            ask_creep(out, &k, confidence);
        if (!out->creeps && !out->shifts && !found->drift)
            ask_spread(out, &k);
    }
    free(k.value);
    free(k.rest);
    free(k.where);
}

static double median_between(size_t *used, const double *values, size_t first, size_t end)
{
    double *work = xcalloc(end, sizeof(*work));
    size_t count = 0;
    for (size_t i = first; i < end; i++) {
        if (isfinite(values[i]))
            work[count++] = values[i];
    }
    const double median = robust_median(work, count);
    free(work);
    *used = count;
    return median;
}

struct newest_level newest_level(const double *values, size_t first, size_t n, size_t end)
{
    struct newest_level out;
    size_t unused;
    out.at_first = median_between(&unused, values, 0, end);
    out.level = median_between(&out.values, values, first, n);
    return out;
}
