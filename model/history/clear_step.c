// SPDX-License-Identifier: Apache-2.0
//
// Four rules that find a step which everybody sees.
//
// Separate sides: all k values of one side lie beyond those of the other. Chance alone sorts n
// values like this one time in C(n, k). Noise with two modes does so one time in 2^n for each
// split; so the gap must be wider than modes lie apart, 10 standard deviations. With fewer values
// chance sorts them more easily, so the gap must be wider: by .35 standard deviations for each
// value below 20. Then of series of ten values in two modes 8 apart one in a thousand passes.
//
// Few values: two sides of at least four values that are 6 standard deviations apart, with none in
// the 4 between them, are two levels under two conditions. Neighbours within a side differ as much
// as values without memory do (von Neumann's ratio is at least 1.1; its mean is 1 for such values).
// And the step between the sides is 4.5 times as long as the steps within them: in a walk all steps
// are of one kind, and one of ten values looks like this less than once in fifty. Six and four
// normal values are so far apart by chance 2e-5 of the time. False changes in 10,000 values are .3
// for walks of ten values and .01 for twenty, and fewer for more, so no rule depends on a length.
// If ten values come from two modes and happen to be sorted (6 of 1024 cases), no rule can tell.
//
// Own noise: Welch's statistic at the split where it is largest, with the variance of each
// mean increased by the largest memory that the residuals allow. Six standard errors have a
// chance of 2e-9 for one split, so choosing among thousands costs nothing. Memory as long as a
// walk's is refused.
//
// Ranks: on a loaded machine every fifth time may be several times too long, so neither means
// nor extremes separate two levels that everybody sees. The rank sum (Wilcoxon 1945; ties take
// the mean of their ranks) is used at the split where it is most unusual. 4.2 of its standard
// deviations come by chance one time in 4e4 for one split, whatever the noise is, if its order
// is random. Noise with memory is excluded by a distance: the medians of both sides must be 10
// times the median absolute deviation apart, and neighbours must change sides of their median as
// often as not.

#include "model/base.h"
#include "model/history/segmentation.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_SIDE = 3,
    LEAST_OTHER = 5,
    OWN_NOISE = 25, // fewer values do not show a noise of their own
    RUN = 5,
    RANKED = 500, // number of values; with more, strays show among the residuals of a segmentation
};
static const double apart = 10, apart_more = 0.35, sorted_by_chance = 20;
static const double errors = 6, most_memory = 0.5;
static const double rank_errors = 4.2;
static const double few_apart = 6, few_between = 4, least_ratio = 1.1, least_step = 4.5;
enum { FEW_SIDE = 4 };
static const double step_share = 0.95; // if a line leaves fewer squares than this share,
                                       // the series creeps

struct step_side {
    double mean, squares; // squares: about the mean
    size_t count;
};

// Sums from the left, with which each split takes constant time. `centre` is subtracted
// from `y` first.
struct step_sums {
    double *sum, *square, *low, *high; // sums over the first i values, and their extremes
    const double *y;
    double centre;
    size_t n;
};

static struct step_sums sums_of(const double *y, size_t n)
{
    struct step_sums s = {.y = y, .n = n};
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

static struct step_side side_of(const struct step_sums *s, size_t first, size_t end)
{
    const double count = (double)(end - first), sum = s->sum[end] - s->sum[first];
    return (struct step_side){
        sum / count, fmax(0, s->square[end] - s->square[first] - sum * sum / count), end - first};
}

static double error_of(struct step_side a, struct step_side b, double grow_a, double grow_b)
{
    const double na = (double)a.count, nb = (double)b.count;
    return sqrt(a.squares * grow_a / (na - 1) / na + b.squares * grow_b / (nb - 1) / nb);
}

static bool wide_apart(const struct step_sums *s, size_t at, double low, double high)
{
    const struct step_side a = side_of(s, 0, at), b = side_of(s, at, s->n);
    const size_t fewer = a.count < b.count ? a.count : b.count;
    const double sigma = sqrt((a.squares + b.squares) / ((double)s->n - 2));
    const double times = apart + apart_more * fmax(sorted_by_chance - (double)s->n, 0);
    const double between = b.mean > a.mean ? low - s->high[at] : s->low[at] - high;
    return fewer >= LEAST_SIDE && s->n - fewer >= LEAST_OTHER &&
           fabs(b.mean - a.mean) > times * sigma && between > times / 2 * sigma;
}

// Finds the split between sides that do not overlap and are as far apart as required; 0: there is
// none. `low` and `high` belong to the values right of the split.
static size_t split_apart(const struct step_sums *s,
                          bool (*apart_enough)(const struct step_sums *s, size_t at, double low,
                                               double high))
{
    double low = INFINITY, high = -INFINITY;
    for (size_t at = s->n - 1; at >= 1; at--) {
        low = fmin(low, s->y[at]);
        high = fmax(high, s->y[at]);
        if ((low > s->high[at] || high < s->low[at]) && apart_enough(s, at, low, high))
            return at;
    }
    return 0;
}

// The sum of the squared differences of neighbours within [first, end).
static double neighbours(const double *y, size_t first, size_t end)
{
    double squares = 0;
    for (size_t i = first + 1; i < end; i++)
        squares += (y[i] - y[i - 1]) * (y[i] - y[i - 1]);
    return squares;
}

static bool few_stand_apart(const struct step_sums *s, size_t at, double low, double high)
{
    const struct step_side a = side_of(s, 0, at), b = side_of(s, at, s->n);
    const double squares = a.squares + b.squares, sigma = sqrt(squares / ((double)s->n - 2));
    const double between = b.mean > a.mean ? low - s->high[at] : s->low[at] - high;
    const double steps = neighbours(s->y, 0, at) + neighbours(s->y, at, s->n);
    const double step = fabs(s->y[at] - s->y[at - 1]), within = sqrt(steps / ((double)s->n - 2));
    return a.count >= FEW_SIDE && b.count >= FEW_SIDE && squares > 0 &&
           steps >= 2 * least_ratio * squares && step > least_step * within &&
           fabs(b.mean - a.mean) > few_apart * sigma && between > few_between * sigma;
}

// The factor by which memory raises the variance of a side's mean, for the largest memory
// (correlation of neighbours) that its residuals allow. 0: they have too much of it.
static double growth(const struct step_sums *s, size_t first, size_t end)
{
    const struct step_side side = side_of(s, first, end);
    double cross = 0;
    for (size_t i = first + 1; i < end; i++)
        cross += (s->y[i] - s->centre - side.mean) * (s->y[i - 1] - s->centre - side.mean);
    const double memory = side.squares > 0 ? cross / side.squares : 0;
    const double most = fmax(memory, 0) + 1 / sqrt((double)side.count);
    return memory > most_memory ? 0 : noise_inflation(fmin(most, 0.9));
}

// The sum of squares about the least-squares line.
static double about_line(const struct step_sums *s)
{
    const double n = (double)s->n, middle = (n - 1) / 2;
    double cross = 0;
    for (size_t i = 0; i < s->n; i++)
        cross += ((double)i - middle) * (s->y[i] - s->centre);
    return s->square[s->n] - cross * cross / (n * (n * n - 1) / 12);
}

static size_t own_noise(const struct step_sums *s)
{
    size_t best = 0;
    double most = 0;
    for (size_t at = OWN_NOISE; at + OWN_NOISE <= s->n; at++) {
        const struct step_side a = side_of(s, 0, at), b = side_of(s, at, s->n);
        const double error = error_of(a, b, 1, 1);
        const double z = error > 0 ? fabs(b.mean - a.mean) / error : 0;
        if (z > most)
            most = z, best = at;
    }
    if (best == 0)
        return 0;
    const double grow_a = growth(s, 0, best), grow_b = growth(s, best, s->n);
    const struct step_side a = side_of(s, 0, best), b = side_of(s, best, s->n);
    const double error = error_of(a, b, grow_a, grow_b);
    if (!(grow_a > 0) || !(grow_b > 0) || fabs(b.mean - a.mean) <= errors * error)
        return 0;
    return a.squares + b.squares < step_share * about_line(s) ? best : 0;
}

// ---- ranks ----

struct step_place {
    double value;
    size_t index;
};

static int by_value(const void *left, const void *right)
{
    return rising_doubles(&((const struct step_place *)left)->value,
                          &((const struct step_place *)right)->value);
}

// Computes the values' ranks, from 1; equal values share the mean of their ranks. Returns the
// factor by which ties reduce the variance of a rank sum.
static double rank_all(double *ranks, const double *y, size_t n)
{
    struct step_place *places = xcalloc(n, sizeof(*places));
    double tied = 0;
    for (size_t i = 0; i < n; i++)
        places[i] = (struct step_place){y[i], i};
    qsort(places, n, sizeof(*places), by_value);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && !(places[end].value > places[first].value);)
            end++;
        const double same = (double)(end - first);
        for (size_t i = first; i < end; i++)
            ranks[places[i].index] = 0.5 * (double)(first + 1 + end);
        tied += same * (same * same - 1);
    }
    free(places);
    return 1 - tied / ((double)n * ((double)n * (double)n - 1));
}

// Finds the split with the most unusual rank sum; 0 if none is unusual.
static size_t by_rank(const double *y, size_t n)
{
    double *ranks = xcalloc(n, sizeof(*ranks)), sum = 0, most = 0;
    const double all = (double)n, left_of_ties = rank_all(ranks, y, n);
    size_t best = 0;
    for (size_t at = 1; at < n; at++) {
        sum += ranks[at - 1];
        const double a = (double)at, b = all - a;
        const double sd = sqrt(a * b * (all + 1) / 12 * left_of_ties);
        const double z = sd > 0 ? (fabs(sum - a * (all + 1) / 2) - 0.5) / sd : 0;
        if (z > most)
            most = z, best = at;
    }
    free(ranks);
    return most > rank_errors ? best : 0;
}

struct middle {
    double median, scatter; // scatter: standard deviation of a normal sample with the same median
                            // absolute deviation
};

static struct middle middle_of(const double *y, size_t n)
{
    double *work = xcalloc(n, sizeof(*work));
    struct middle m;
    memcpy(work, y, n * sizeof(*work));
    m.median = robust_median(work, n);
    m.scatter = robust_sd(work, n);
    free(work);
    return m;
}

// Whether values stay on one side of their median for longer than chance allows: by one standard
// deviation of the number of neighbours that agree.
static bool lingers(const double *y, size_t n, double median_before, double median_after, size_t at)
{
    double agree = 0, pairs = 0;
    for (size_t i = 1; i < n; i++) {
        const double median = i < at ? median_before : median_after;
        if (i == at)
            continue;
        agree += (y[i] > median) == (y[i - 1] > median);
        pairs++;
    }
    return agree > pairs / 2 + sqrt(pairs) / 2;
}

static void put(struct change *out, size_t at, double before, double after, double evidence)
{
    const double gap = after - before;
    *out = (struct change){at, at, at, before, after, {gap, gap, gap}, evidence};
}

static bool ranked(struct change *out, const double *y, size_t n)
{
    const size_t at = n <= RANKED ? by_rank(y, n) : 0;
    if (at == 0)
        return false;
    const struct middle a = middle_of(y, at), b = middle_of(y + at, n - at);
    const double scatter = fmax(a.scatter, b.scatter);
    if (!(fabs(b.median - a.median) > apart * scatter / 1.4826) ||
        lingers(y, n, a.median, b.median, at))
        return false;
    put(out, at, a.median, b.median, 0.5 * rank_errors * rank_errors);
    return true;
}

// Describes a step by the means of both sides.
static void describe(struct change *out, const struct step_sums *s, size_t at)
{
    const struct step_side a = side_of(s, 0, at), b = side_of(s, at, s->n);
    const double error = error_of(a, b, 1, 1), n = (double)s->n;
    const double z = error > 0 ? fabs(b.mean - a.mean) / error : 1e6;
    put(out, at, s->centre + a.mean, s->centre + b.mean, 0.5 * n * log1p(z * z / n));
}

bool clear_step_find(struct change *out, const double *y, size_t n, bool separate)
{
    if (n < LEAST_SIDE + LEAST_OTHER)
        return false;
    struct step_sums s = sums_of(y, n);
    size_t at = split_apart(&s, wide_apart);
    if (at == 0 && !separate)
        at = split_apart(&s, few_stand_apart);
    if (at == 0 && !separate)
        at = own_noise(&s);
    if (at > 0)
        describe(out, &s, at);
    free(s.sum);
    return at > 0 || (!separate && ranked(out, y, n));
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
