// SPDX-License-Identifier: Apache-2.0
//
// Finds the steps of a series, in four parts.
//
// 1. The noise from differences: scale and lag-1 correlation r (model/history/noise.c). The mean of
//    many values varies (1 + r) / (1 - r) times as much as that of independent ones, and penalties
//    grow by the same factor (Lavielle and Moulines, "Least-squares estimation of an unknown number
//    of shifts in a time series", 2000: a penalty must grow with the long-run variance). In short
//    series, differences tell r only vaguely; the residuals of a first segmentation, made as if r
//    were 0, limit it.
// 2. An exact segmentation with a bounded cost (potts_fit()).
// 3. The residuals tell what the noise is like. The bound of the cost is put where a shift shows
//    best, and the cost is valued in nats, for any distribution (struct loss). If sums of 1, 2,
//    4, ... residuals in a row vary more than assumed, the noise has more memory than assumed. Part
//    2 is repeated with these results. Only the first few passes fit the cost again, and memory
//    only grows, so this ends.
// 4. Steps that do not stand out of the scatter around them are dropped, weakest first, because
//    noise may be louder in some stretches than in others.
//
// Short series: if a scale is known with v degrees of freedom, a chi-squared statistic becomes
// an F statistic, whose likelihood ratio is v log(1 + x / v). So a threshold x becomes v (exp(x
// / v) - 1).
#include "model/history/segmentation.h"

#include "model/base.h"
#include "model/history/changepoint.h"
#include "model/robust.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// ==== the loss ====
//
// If the level moves by m, a value x (about the old level) gains the cost
//
//     g_m(x) = min(x^2, K^2) - min((x - m)^2, K^2).
//
// Without a change, the mean of g_m is negative. The largest sum of it over any stretch of a long
// series exceeds G with a probability that falls as exp(-theta G), where theta > 0 solves
//
//     E exp(theta g_m(X)) = 1
//
// (Cramer and Lundberg; Asmussen and Albrecher, "Ruin Probabilities", 2010, chapter XIII: the
// maximum of a random walk with negative drift). So theta converts cost into nats of evidence.
// Normal noise gives 1 / (2 sigma^2) for every m if K is wide, and this is then the usual
// likelihood ratio. Heavy tails and second modes give less, for those m that a few strays in a row
// would favour. The least theta over all m is used; E is the mean over the residuals.
//
// If the new level is m away, the mean gain of a value is that of g_m(X + m). Multiplied by theta
// it is the value's worth in nats, and the bound K with the largest worth is the most efficient
// one. m is one robust standard deviation, in either direction.

enum { SAMPLE = 256, PAIRED = 48, BOUNDS = 8, SHIFTS = 6, STRAYS = 12, ROUNDS = 40 };
static const double improvement = 1.1;
static const double least_shift = 0.15; // smallest m, as a multiple of the bound
static const double least_rate = 1e-4;  // smallest rate, as a multiple of 1 / bound^2

// Quantiles that stand for all residuals.
struct quantiles {
    double x[SAMPLE];
    size_t count;
};

// Takes `count` of n sorted values, symmetrically from both ends, so that a series turned upside
// down gives the same result upside down.
static void take(double *out, size_t count, const double *sorted, size_t n)
{
    for (size_t i = 0; i < count; i++) {
        size_t mirror = count - 1 - i, nearer = i < mirror ? i : mirror;
        size_t at = (2 * nearer + 1) * n / (2 * count);
        out[i] = sorted[i <= mirror ? at : n - 1 - at];
    }
}

static struct quantiles sample_of(const double *sorted, size_t n)
{
    struct quantiles out = {.count = n < SAMPLE ? n : SAMPLE};
    take(out.x, out.count, sorted, n);
    return out;
}

static double cost(double x, double bound)
{
    const double square = x * x, most = bound * bound; // fmin() is a call
    return square < most ? square : most;
}

// log E exp(theta g), and its derivative.
static double cumulant(double *slope, const double *g, size_t n, double most, double theta)
{
    double sum = 0, first = 0;
    for (size_t i = 0; i < n; i++) {
        double e = exp(theta * (g[i] - most)); // at most 1
        sum += e;
        first += e * g[i];
    }
    *slope = first / sum;
    return theta * most + log(sum / (double)n);
}

// Solves for theta by Newton's method from the right, where the function is positive and convex, so
// that it approaches the root without passing it. `enough`: larger values do not matter.
static double exponent(const double *g, size_t n, double enough)
{
    double most = 0, mean = 0, slope;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, g[i]);
        mean += g[i];
    }
    if (mean >= 0)
        return 0;
    double theta = enough;
    if (most <= 0 || cumulant(&slope, g, n, most, theta) <= 0)
        return enough;
    for (int i = 0; i < ROUNDS; i++) {
        double step = cumulant(&slope, g, n, most, theta) / slope;
        if (!(slope > 0) || step < 1e-3 * theta)
            break;
        theta -= step;
    }
    return fmax(theta, 0);
}

static double rate_of_shift(const struct quantiles *s, double bound, double m, double enough)
{
    double g[SAMPLE];
    for (size_t i = 0; i < s->count; i++)
        g[i] = cost(s->x[i], bound) - cost(s->x[i] - m, bound);
    return exponent(g, s->count, enough);
}

static double rate_of(const struct quantiles *s, double bound)
{
    const double shifts[SHIFTS] = {least_shift, 0.3, 0.6, 1, 1.5, 2};
    double floor = least_rate / (bound * bound), squares = 0, inside = 0;
    for (size_t i = 0; i < s->count; i++) {
        double c = cost(s->x[i], bound);
        squares += c;
        inside += c < bound * bound;
    }
    // Starts from the limit m -> 0, without the density at the bound.
    double rate = squares > 0 ? fmax(0.5 * (double)s->count / squares, floor) : 1e300;
    for (size_t k = 0; k < SHIFTS; k++) {
        rate = rate_of_shift(s, bound, shifts[k] * bound, rate);
        rate = rate_of_shift(s, bound, -shifts[k] * bound, rate);
    }
    // For larger m, only values beyond the bound gain.
    double strays[STRAYS];
    size_t few = s->count < STRAYS ? s->count : STRAYS;
    take(strays, few, s->x, s->count);
    for (size_t k = 0; k < few && inside < (double)s->count; k++) {
        if (fabs(strays[k]) > 2 * bound)
            rate = rate_of_shift(s, bound, strays[k], rate);
    }
    return fmax(rate, floor);
}

// The worth of a value, in nats, if the level has moved by one robust standard deviation.
static double worth(const struct quantiles *s, struct loss loss, double m)
{
    double gain = 0;
    for (size_t i = 0; i < s->count; i++) {
        double x = s->x[i], stay = cost(x, loss.bound);
        gain += cost(x + m, loss.bound) + cost(x - m, loss.bound) - 2 * stay;
    }
    return loss.rate * gain;
}

// The scale as model/history/noise.c estimates it from differences, but from values that
// cannot be correlated.
static double scale_of(const struct quantiles *s)
{
    double gaps[PAIRED * (PAIRED - 1) / 2];
    double few[PAIRED];
    size_t paired = s->count < PAIRED ? s->count : PAIRED, count = 0;
    take(few, paired, s->x, s->count);
    for (size_t i = 0; i < paired; i++) {
        for (size_t k = 0; k < i; k++)
            gaps[count++] = few[i] - few[k];
    }
    return noise_scale(gaps, count) * M_SQRT1_2;
}

// Moves the quantiles to the level that costs least under this bound, if that is so far away that
// the smallest shift would gain: then g would have a positive mean, and no theta would exist. This
// happens with values on a coarse grid, when a second step of the grid comes inside the bound.
static struct quantiles centred(const struct quantiles *s, double bound)
{
    struct quantiles out = *s;
    double level = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double sum = 0, count = 0, before = level;
        for (size_t i = 0; i < s->count; i++) {
            const bool inside = fabs(s->x[i] - level) < bound;
            sum += inside ? s->x[i] : 0;
            count += inside;
        }
        level = count > 0 ? sum / count : level;
        if (fabs(level - before) <= 1e-6 * bound)
            break;
    }
    for (size_t i = 0; i < s->count && fabs(level) > 0.5 * least_shift * bound; i++)
        out.x[i] -= level;
    return out;
}

static double fit_bound(struct loss *loss, const struct quantiles *residuals, double spread)
{
    const struct quantiles s = centred(residuals, loss->bound);
    loss->rate = rate_of(&s, loss->bound);
    return worth(&s, *loss, spread);
}

struct loss loss_fit(const double *sorted, size_t n, double widest)
{
    struct quantiles s = sample_of(sorted, n);
    double spread = 0.7413 * (sorted[n - 1 - n / 4] - sorted[n / 4]);
    struct loss loss = {.scale = scale_of(&s)};
    if (!(loss.scale > 0))
        return loss;
    loss.bound = widest * loss.scale;
    double most = improvement * fit_bound(&loss, &s, spread);
    struct loss best = loss;
    for (int i = 1; i < BOUNDS && loss.bound > spread; i++) {
        loss.bound *= 0.75;
        double now = fit_bound(&loss, &s, spread);
        if (now > most) {
            most = now;
            best = loss;
        }
    }
    return best;
}

// ==== segments ====

// ---- the fit with the least bounded cost ----

// Optimal partitioning by functional pruning (Fearnhead and Rigaill, "Changepoint detection in the
// presence of outliers", JASA 2019; Maidstone et al., "On optimal multiple changepoint algorithms
// for large data", 2017). Let Q_t(m) be the least cost of y_1..y_t if the last segment has level m:
//     Q_t(m) = min( Q_{t-1}(m), F_{t-1} + penalty ) + min((y_t - m)^2, bound^2)
//     F_t    = min_m Q_t(m)
// Q_t is piecewise quadratic in m. A candidate for the last change that is best for no m drops
// out, so each value costs as much as there are pieces, and these stay few: a long segment is
// best only within sqrt(penalty / length) of its mean. Every piece is kept as weight (m -
// centre)^2 + constant. Unlike a m^2 + b m + c, this does not lose digits when levels are a
// million noise widths apart.

struct cost_piece {
    double low, high; // valid for low <= m < high
    double weight, centre, constant;
    size_t start; // first value of the last segment
};

struct cost_pieces {
    struct cost_piece *items;
    size_t count, room;
};

static void append(struct cost_pieces *list, struct cost_piece piece)
{
    if (!(piece.low < piece.high))
        return;
    if (list->count > 0) {
        // Neighbouring pieces of the same flat candidate are one piece.
        struct cost_piece *last = &list->items[list->count - 1];
        if (last->weight == 0 && piece.weight == 0 && last->start == piece.start &&
            last->constant == piece.constant) {
            last->high = piece.high;
            return;
        }
    }
    list->items = xgrow(list->items, list->count, &list->room, sizeof(*list->items));
    list->items[list->count++] = piece;
}

static struct cost_piece part(struct cost_piece whole, double low, double high)
{
    // fmin() and fmax() would be calls, and most of the time is spent here.
    whole.low = whole.low < low ? low : whole.low;
    whole.high = whole.high > high ? high : whole.high;
    return whole;
}

// Writes to `out` the lower envelope of the old candidates' costs and of a new candidate, whose
// cost is `fresh` at every level.
static void offer(struct cost_pieces *out, const struct cost_pieces *old, double fresh,
                  size_t start)
{
    out->count = 0;
    for (size_t i = 0; i < old->count; i++) {
        struct cost_piece piece = old->items[i];
        struct cost_piece flat = {piece.low, piece.high, 0, 0, fresh, start};
        if (piece.constant >= fresh) {
            append(out, flat);
        } else if (piece.weight <= 0) {
            append(out, piece);
        } else {
            double reach = sqrt((fresh - piece.constant) / piece.weight);
            append(out, part(flat, -INFINITY, piece.centre - reach));
            append(out, part(piece, piece.centre - reach, piece.centre + reach));
            append(out, part(flat, piece.centre + reach, INFINITY));
        }
    }
}

static struct cost_piece add_square(struct cost_piece piece, double value)
{
    double weight = piece.weight + 1;
    double gap = value - piece.centre;
    piece.constant += piece.weight / weight * gap * gap;
    piece.centre += gap / weight;
    piece.weight = weight;
    return piece;
}

static struct cost_piece add_constant(struct cost_piece piece, double amount)
{
    piece.constant += amount;
    return piece;
}

// Adds one value's bounded cost to every piece.
static void observe(struct cost_pieces *out, const struct cost_pieces *old, double value,
                    double bound)
{
    double cap = bound * bound;
    out->count = 0;
    for (size_t i = 0; i < old->count; i++) {
        struct cost_piece piece = old->items[i];
        append(out, add_constant(part(piece, -INFINITY, value - bound), cap));
        append(out, add_square(part(piece, value - bound, value + bound), value));
        append(out, add_constant(part(piece, value + bound, INFINITY), cap));
    }
}

struct minimum {
    double cost, level;
    size_t start;
};

static struct minimum minimise(const struct cost_pieces *list)
{
    struct minimum best = {INFINITY, 0, 0};
    for (size_t i = 0; i < list->count; i++) {
        const struct cost_piece *piece = &list->items[i];
        double level = piece->centre < piece->low ? piece->low : piece->centre;
        level = level > piece->high ? piece->high : level;
        if (piece->weight <= 0)
            level = 0.5 * (piece->low + piece->high);
        double gap = level - piece->centre;
        double cost = piece->constant + piece->weight * gap * gap;
        if (cost < best.cost)
            best = (struct minimum){cost, level, piece->start};
    }
    return best;
}

// best[t] describes the last segment of the best partition of the first t + 1 values.
static void forward(struct minimum *best, const double *values, size_t n, double bound,
                    double penalty)
{
    double low = values[0], high = values[0];
    for (size_t t = 1; t < n; t++) {
        low = fmin(low, values[t]);
        high = fmax(high, values[t]);
    }
    struct cost_pieces now = {0}, next = {0};
    append(&now, (struct cost_piece){low - bound, high + bound, 0, 0, penalty, 0});
    for (size_t t = 0; t < n; t++) {
        if (t > 0) {
            offer(&next, &now, best[t - 1].cost + penalty, t);
            struct cost_pieces swap = now;
            now = next;
            next = swap;
        }
        observe(&next, &now, values[t], bound);
        struct cost_pieces swap = now;
        now = next;
        next = swap;
        best[t] = minimise(&now);
    }
    free(now.items);
    free(next.items);
}

// Minimises, over all partitions and levels,
//     sum over segments ( penalty + sum over its values of min((y - level)^2, bound^2) ).
// Returns the segments in order, `*count` of them (0 for no values); the caller frees.
// `values` are finite; bound > 0 and penalty > 0, in the values' unit and its square.
static struct potts_segment *potts_fit(size_t *count, const double *values, size_t n, double bound,
                                       double penalty)
{
    assert(bound > 0 && penalty > 0);
    *count = 0;
    if (n == 0)
        return xcalloc(1, sizeof(struct potts_segment));
    struct minimum *best = xcalloc(n, sizeof(*best));
    forward(best, values, n, bound, penalty);
    size_t segments = 0;
    for (size_t end = n; end > 0; end = best[end - 1].start)
        segments++;
    struct potts_segment *out = xcalloc(segments, sizeof(*out));
    *count = segments;
    for (size_t end = n; end > 0; end = best[end - 1].start) {
        const struct minimum *last = &best[end - 1];
        out[--segments] = (struct potts_segment){last->start, end, last->level};
    }
    free(best);
    return out;
}

enum {
    MAX_PASSES = 30,
    TUNED = 4,         // passes that also fit the bounded cost
    MIN_BLOCKS = 16,   // with fewer sums their variance is not known well enough
    SHORT = 500,       // number of values; with more, differences tell r well enough
    LOUDEST = 4,       // in reaches
    PRIOR_VALUES = 10, // weight of the segments around it in a segment's own variance
};
static const double max_correlation = 0.98;
static const double max_inflation = 20; // r = 0.905
static const double efficiency = 0.4;   // degrees of freedom per value of a trimmed scale

// 1 for independent values.
static double inflation_of(const struct segmentation *s)
{
    return s->long_run / s->variance;
}

static bool too_alike(const struct segmentation *s)
{
    return inflation_of(s) > max_inflation;
}

// A threshold for a squared statistic whose scale was estimated from this series.
static double widen(const struct segmentation *s, double threshold)
{
    double freedom = efficiency * (double)s->n / inflation_of(s);
    return freedom * expm1(fmin(threshold / freedom, 50));
}

static double clip(double value, double bound)
{
    return fmax(-bound, fmin(bound, value));
}

static void load(struct segmentation *s, const double *values, size_t n)
{
    s->y = xcalloc(n, sizeof(*s->y));
    s->where = xcalloc(n, sizeof(*s->where));
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i]))
            continue;
        s->y[s->n] = values[i];
        s->where[s->n++] = i;
        largest = fmax(largest, fabs(values[i]));
    }
    // The scale is of any magnitude: squares of 1e-300 or 1e300 would vanish or overflow.
    s->scale = largest > 0 ? largest : 1;
    for (size_t i = 0; i < s->n; i++)
        s->y[i] /= s->scale;
}

// From here on, values are in units of the noise. False for a constant series.
static bool normalise(struct segmentation *s)
{
    struct series_noise noise = noise_estimate(s->y, s->n);
    if (!(noise.sigma > 0))
        return false;
    double *scratch = xcalloc(s->n, sizeof(*scratch));
    memcpy(scratch, s->y, s->n * sizeof(*scratch));
    s->centre = robust_median(scratch, s->n);
    free(scratch);
    // Beyond 10^12 noise widths the distance does not matter, as long as it is finite.
    for (size_t i = 0; i < s->n; i++)
        s->y[i] = clip((s->y[i] - s->centre) / noise.sigma, 1e12);
    s->centre *= s->scale;
    s->scale *= noise.sigma;
    s->correlation = fmin(noise.correlation, max_correlation);
    s->variance = noise.correlation < 1 ? 1 : 1 / (1 - max_correlation);
    s->step_variance = s->variance * (1 - s->correlation);
    s->long_run = s->variance * noise_inflation(s->correlation);
    s->reach = s->bound * sqrt(s->variance);
    s->wanders = too_alike(s); // as the differences alone have it
    return true;
}

// The lag-1 correlation of the residuals of a segmentation that assumes independent noise. It is an
// upper bound: increased by its bias (each fitted level costs about (1 + 4 r) / n: Kendall, "Note
// on bias in the estimation of autocorrelation", Biometrika 1954) and by one standard error.
static double residual_correlation(const struct segmentation *s)
{
    size_t count;
    struct potts_segment *segments = potts_fit(
        &count, s->y, s->n, s->bound * sqrt(s->step_variance), s->penalty * s->step_variance);
    double cross = 0, squares = 0, bound = s->reach;
    for (size_t j = 0; j < count; j++) {
        double before = 0;
        for (size_t i = segments[j].first; i < segments[j].end; i++) {
            double residual = clip(s->y[i] - segments[j].level, bound);
            cross += residual * before;
            squares += residual * residual;
            before = residual;
        }
    }
    free(segments);
    double n = (double)s->n, r = squares > 0 ? cross / squares : 0;
    return fmax(0, r + (1 + 4 * fmax(r, 0)) * (double)count / n + 1 / sqrt(n));
}

static void bound_correlation(struct segmentation *s)
{
    double r = residual_correlation(s);
    if (r >= s->correlation)
        return;
    s->correlation = r;
    s->variance = s->step_variance / (1 - r);
    s->long_run = s->variance * noise_inflation(r);
    s->reach = s->bound * sqrt(s->variance);
}

// The residual as the bounded cost counts it: 0 beyond the bound.
static double counted(const struct segmentation *s, double residual)
{
    return fabs(residual) < s->reach ? residual : 0;
}

// The variance per value of sums of `length` residuals in a row, within segments at least four
// times as long. It is lowered by its own standard error, so that chance alone rarely raises it; 0
// if there are too few sums.
static double sum_variance(const struct segmentation *s, size_t length)
{
    double squares = 0, blocks = 0;
    for (size_t j = 0; j < s->count; j++) {
        const struct potts_segment *segment = &s->segments[j];
        size_t size = segment->end - segment->first;
        if (size < 4 * length)
            continue;
        double mean = 0;
        for (size_t i = segment->first; i < segment->end; i++)
            mean += counted(s, s->y[i] - segment->level) / (double)size;
        for (size_t first = segment->first; first + length <= segment->end; first += length) {
            double sum = 0;
            for (size_t i = first; i < first + length; i++)
                sum += counted(s, s->y[i] - segment->level) - mean;
            squares += sum * sum / (double)length;
            blocks += 1 - (double)length / (double)size; // one mean was fitted
        }
    }
    return blocks < MIN_BLOCKS ? 0 : squares / blocks / (1 + sqrt(2 / blocks));
}

static double inflation_seen(const struct segmentation *s)
{
    double seen = 0, squares = 0, count = 0;
    for (size_t j = 0; j < s->count; j++) {
        for (size_t i = s->segments[j].first; i < s->segments[j].end; i++)
            squares += pow(counted(s, s->y[i] - s->segments[j].level), 2);
        count += (double)(s->segments[j].end - s->segments[j].first) - 1;
    }
    for (size_t length = 1; length <= s->n / 4; length *= 2)
        seen = fmax(seen, sum_variance(s, length));
    return squares > 0 && count > 0 ? seen * count / squares : 0;
}

static double cost_about(const struct segmentation *s, const struct potts_segment *segment,
                         double level)
{
    double cap = s->reach * s->reach, sum = 0;
    for (size_t i = segment->first; i < segment->end; i++) {
        double residual = s->y[i] - level;
        sum += fmin(residual * residual, cap);
    }
    return sum;
}

// The mean of the values within reach of `level`.
static double near_mean(const struct segmentation *s, const struct potts_segment *segment,
                        double level)
{
    double sum = 0, count = 0;
    for (size_t i = segment->first; i < segment->end; i++) {
        if (fabs(s->y[i] - level) < s->reach) {
            sum += s->y[i];
            count++;
        }
    }
    return count > 0 ? sum / count : level;
}

// Joins both segments at the level of least cost, found downhill from either level or from between.
static struct potts_segment joined(const struct segmentation *s, const struct potts_segment *a,
                                   const struct potts_segment *b, double *cost)
{
    double size_a = (double)(a->end - a->first), size_b = (double)(b->end - b->first);
    const double starts[] = {a->level, b->level,
                             (a->level * size_a + b->level * size_b) / (size_a + size_b)};
    struct potts_segment both = {a->first, b->end, a->level};
    *cost = INFINITY;
    for (size_t k = 0; k < ARRAY_COUNT(starts); k++) {
        double level = starts[k];
        for (int i = 0; i < 5; i++)
            level = near_mean(s, &both, level);
        double now = cost_about(s, &both, level);
        if (now < *cost) {
            *cost = now;
            both.level = level;
        }
    }
    return both;
}

// The sum of absolute residuals, where each counts at most as much as a loud stretch may show.
static double amount_about(const struct segmentation *s, const struct potts_segment *segment)
{
    double sum = 0;
    for (size_t i = segment->first; i < segment->end; i++)
        sum += fmin(fabs(s->y[i] - segment->level), LOUDEST * s->reach);
    return sum;
}

// The weight of `size` values whose level was fitted: the residuals of few values are too small.
static double weight_of(const struct potts_segment *segment)
{
    double size = (double)(segment->end - segment->first);
    return sqrt(size * (size - 1));
}

static double *sorted_residuals(const struct segmentation *s)
{
    double *residuals = xcalloc(s->n, sizeof(*residuals));
    for (size_t j = 0; j < s->count; j++) {
        for (size_t i = s->segments[j].first; i < s->segments[j].end; i++)
            residuals[i] = s->y[i] - s->segments[j].level;
    }
    robust_median(residuals, s->n); // sorts them
    return residuals;
}

// Fits the bounded cost to the residuals. If neighbouring values are similar, the segmentation
// follows them and its residuals are too small. The more similar they are, the more the scale of
// the differences counts as a floor. Returns whether anything changed.
static bool tune(struct segmentation *s)
{
    double *residuals = sorted_residuals(s), inflation = inflation_of(s);
    struct loss loss = loss_fit(residuals, s->n, s->bound);
    free(residuals);
    if (!(loss.scale > 1e-6)) // values are in units of the noise, so less is only rounding
        return false;
    double reach = s->reach, before = s->variance, n = (double)s->n;
    double floor = s->correlation * s->step_variance / (1 - s->correlation);
    double spent = fmin(2 * (double)s->count / n, 0.5);
    double grow = fmax(1 / (1 - spent), floor / (loss.scale * loss.scale));
    s->reach = sqrt(grow) * loss.bound;
    s->variance = grow * 0.5 / loss.rate;
    s->long_run = s->variance * inflation;
    return fabs(reach - s->reach) > 0.02 * reach || fabs(before - s->variance) > 0.02 * before;
}

// An outlier at the border of two segments costs both the same. The border is moved so that a
// segment's first value lies near its level.
static void begin_near(struct segmentation *s)
{
    for (size_t j = 1; j < s->count; j++) {
        struct potts_segment *a = &s->segments[j - 1], *b = a + 1;
        while (b->first + 1 < b->end && fabs(s->y[b->first] - a->level) >= s->reach &&
               fabs(s->y[b->first] - b->level) >= s->reach)
            a->end = ++b->first;
    }
}

static void fit(struct segmentation *s)
{
    for (int pass = 0; pass < MAX_PASSES && !too_alike(s); pass++) {
        free(s->segments);
        s->segments =
            potts_fit(&s->count, s->y, s->n, s->reach, widen(s, s->penalty) * s->long_run);
        bool tuned = pass < TUNED && tune(s);
        double seen = inflation_seen(s);
        if (seen > 1.02 * inflation_of(s))
            s->long_run = seen * s->variance;
        else if (!tuned)
            break;
    }
    for (size_t j = 0; j < s->count; j++)
        s->segments[j].level = near_mean(s, &s->segments[j], s->segments[j].level);
    begin_near(s);
    double amount = 0, weight = 0;
    for (size_t j = 0; j < s->count; j++) {
        amount += amount_about(s, &s->segments[j]);
        weight += weight_of(&s->segments[j]);
    }
    s->mean_amount = amount > 0 ? amount / weight : sqrt(s->variance);
}

double segmentation_score(const struct segmentation *s, size_t j)
{
    const struct potts_segment *a = &s->segments[j], *b = a + 1;
    double size_a = (double)(a->end - a->first), size_b = (double)(b->end - b->first), together;
    double cost_a = cost_about(s, a, a->level), cost_b = cost_about(s, b, b->level);
    joined(s, a, b, &together);
    // Is the noise around this step louder than elsewhere?
    double amount_a = amount_about(s, a), amount_b = amount_about(s, b);
    double pooled = (amount_a + amount_b + PRIOR_VALUES * s->mean_amount) /
                    (weight_of(a) + weight_of(b) + PRIOR_VALUES);
    double loud_a = (amount_a + PRIOR_VALUES * pooled) / (weight_of(a) + PRIOR_VALUES);
    double loud_b = (amount_b + PRIOR_VALUES * pooled) / (weight_of(b) + PRIOR_VALUES);
    double loudness = (loud_a * loud_a / size_a + loud_b * loud_b / size_b) /
                      (s->mean_amount * s->mean_amount * (1 / size_a + 1 / size_b));
    return fmax(together - cost_a - cost_b, 0) / (s->long_run * loudness);
}

void segmentation_level(struct segmentation *s, size_t j)
{
    struct potts_segment *segment = &s->segments[j];
    segment->level = revisit_level(s->y, segment);
    for (int i = 0; i < 5; i++)
        segment->level = near_mean(s, segment, segment->level);
}

static void drop_weak(struct segmentation *s)
{
    double threshold = widen(s, s->penalty);
    while (s->count > 1) {
        size_t weakest = 0;
        double least = INFINITY, unused;
        for (size_t j = 0; j + 1 < s->count; j++) {
            double score = segmentation_score(s, j);
            if (score < least) {
                least = score;
                weakest = j;
            }
        }
        if (least >= threshold)
            return;
        struct potts_segment *segment = &s->segments[weakest];
        segment[0] = joined(s, &segment[0], &segment[1], &unused);
        memmove(segment + 1, segment + 2, (s->count - weakest - 2) * sizeof(*segment));
        s->count--;
    }
}

void segmentation_find(struct segmentation *out, const double *values, size_t n, double penalty,
                       double bound)
{
    *out = (struct segmentation){.penalty = penalty, .bound = bound, .variance = 0};
    load(out, values, n);
    if (!normalise(out))
        return;
    if (out->n <= SHORT)
        bound_correlation(out);
    fit(out);
    out->wanders = out->wanders || too_alike(out);
    drop_weak(out);
}

void segmentation_free(struct segmentation *segmentation)
{
    free(segmentation->y);
    free(segmentation->where);
    free(segmentation->segments);
    memset(segmentation, 0, sizeof(*segmentation));
}

// ==== levels of their own, or outliers ====
//
// `far` of the n values lie beyond the middle between two levels. If their order were
// random, the `run` values of a given stretch would hold at least `met` of them with
// the hypergeometric probability
//
//     P = sum over i >= met of C(far, i) C(n - far, run - i) / C(n, run).
//
// There are two such stretches at the ends of the series and n - run - 1 in between. A bounded cost
// cannot know this in a short series: once a few strays in a row have become a segment, no
// residuals are left that tell how often values stray.

enum { LONG = 16 }; // so many values in a row are no visit
static const double rare = 0.005;

static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

static double chance_of(size_t n, size_t far, size_t run, size_t met, double places)
{
    double sum = 0, all = log_choose((double)n, (double)run);
    for (size_t i = met; i <= run && i <= far; i++) {
        if (run - i > n - far)
            continue;
        sum += exp(log_choose((double)far, (double)i) +
                   log_choose((double)(n - far), (double)(run - i)) - all);
    }
    return places * sum;
}

double revisit_level(const double *values, const struct potts_segment *segment)
{
    size_t n = segment->end - segment->first;
    double *work = xcalloc(n, sizeof(*work));
    memcpy(work, values + segment->first, n * sizeof(*work));
    double median = robust_median(work, n);
    free(work);
    return median;
}

// The number of values of a segment that lie more than half of `gap` from its level, in the
// direction of `gap`.
static size_t far_from(const double *values, const struct potts_segment *segment, double level,
                       double gap)
{
    size_t far = 0;
    for (size_t i = segment->first; i < segment->end; i++)
        far += gap > 0 ? values[i] - level > 0.5 * gap : values[i] - level < 0.5 * gap;
    return far;
}

// Whether the shorter one of segments j and j + 1 is only a visit.
static bool is_visit(const double *values, size_t n, const struct potts_segment *segments,
                     size_t count, size_t j)
{
    size_t left = segments[j].end - segments[j].first;
    size_t right = segments[j + 1].end - segments[j + 1].first;
    size_t host = left < right ? j + 1 : j, guest = left < right ? j : j + 1;
    const struct potts_segment *short_one = &segments[guest];
    size_t run = short_one->end - short_one->first, met, strays = 0;
    if (run > LONG)
        return false;
    double gap = segments[guest].level - segments[host].level;
    met = far_from(values, short_one, segments[host].level, gap);
    for (size_t k = 0; k < count; k++) {
        if (k != guest)
            strays += far_from(values, &segments[k], segments[k].level, gap);
    }
    bool at_end = short_one->first == 0 || short_one->end == n;
    double chance = chance_of(n, strays + met, run, met, at_end ? 2 : (double)(n - run - 1));
    double rarest = 2 * exp(-log_choose((double)n, floor(0.5 * (double)n)));
    return chance > fmax(rare, 1.001 * rarest);
}

size_t revisit_drop(const double *values, size_t n, struct potts_segment *segments, size_t count)
{
    for (size_t j = 0; j + 1 < count;) {
        if (!is_visit(values, n, segments, count, j)) {
            j++;
            continue;
        }
        segments[j].end = segments[j + 1].end;
        segments[j].level = revisit_level(values, &segments[j]);
        memmove(segments + j + 1, segments + j + 2, (count - j - 2) * sizeof(*segments));
        count--;
        j = j ? j - 1 : 0;
    }
    return count;
}
