// SPDX-License-Identifier: Apache-2.0
//
// A model's errors on measured rows, and its S-curve. Beside them stand the best constant
// utilisation and the picking of configurations, which a model has to beat.
#include "model/predict/parts/accuracy.h"

#include "model/csv.h"
#include "model/predict/parts/arithmetic.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Linear interpolation between order statistics of a sorted array.
static double quantile(const double *sorted, size_t count, double share)
{
    double at = share * (double)(count - 1);
    size_t below = (size_t)at;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

double kendall_tau(const double *a, const double *b, size_t count)
{
    double score = 0, pairs_a = 0, pairs_b = 0; // pairs of rows that a, or b, does not tie
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            int in_a = (a[i] > a[j]) - (a[i] < a[j]), in_b = (b[i] > b[j]) - (b[i] < b[j]);
            score += in_a * in_b;
            pairs_a += in_a != 0;
            pairs_b += in_b != 0;
        }
    }
    return pairs_a > 0 && pairs_b > 0 ? score / sqrt(pairs_a * pairs_b) : NAN;
}

static int by_problem(const void *left, const void *right)
{
    return strcmp(((const struct accuracy_row *)left)->problem,
                  ((const struct accuracy_row *)right)->problem);
}

static struct accuracy_problem rank_one(const struct accuracy_row *rows, size_t count,
                                        double *predicted, double *measured)
{
    struct accuracy_problem out = {rows[0].problem, count, NAN, NAN, 1, rows};
    double best = rows[0].measured_ns;
    for (size_t i = 0; i < count; i++) {
        predicted[i] = rows[i].predicted_ns;
        measured[i] = rows[i].measured_ns;
        if (rows[i].predicted_ns < out.choice->predicted_ns)
            out.choice = &rows[i];
        best = least(best, rows[i].measured_ns);
    }
    for (size_t i = 0; i < count; i++)
        out.picked_rank += rows[i].measured_ns < out.choice->measured_ns;
    out.tau = kendall_tau(predicted, measured, count);
    out.picked = best / out.choice->measured_ns;
    return out;
}

struct accuracy_problem *accuracy_by_problem(size_t *count, struct accuracy_row *rows,
                                             size_t row_count)
{
    struct accuracy_problem *out = xcalloc(row_count, sizeof(*out));
    double *predicted = xcalloc(row_count, sizeof(*predicted));
    double *measured = xcalloc(row_count, sizeof(*measured));
    *count = 0;
    qsort(rows, row_count, sizeof(*rows), by_problem);
    for (size_t begin = 0, end; begin < row_count; begin = end) {
        for (end = begin + 1; end < row_count && !by_problem(&rows[begin], &rows[end]);)
            end++;
        if (end - begin > 1)
            out[(*count)++] = rank_one(rows + begin, end - begin, predicted, measured);
    }
    free(predicted);
    free(measured);
    return out;
}

static void rank_problems(struct accuracy *out, const struct accuracy_row *rows, size_t count)
{
    struct accuracy_row *sorted = xcalloc(count, sizeof(*sorted));
    memcpy(sorted, rows, count * sizeof(*sorted));
    struct accuracy_problem *problems = accuracy_by_problem(&out->picked_problems, sorted, count);
    out->picked_worst = 1;
    for (size_t i = 0; i < out->picked_problems; i++) {
        const struct accuracy_problem *p = &problems[i];
        if (!isnan(p->tau)) {
            out->tau += p->tau;
            out->tau_problems++;
        }
        out->picked += p->picked;
        out->picked_worst = least(out->picked_worst, p->picked);
    }
    out->tau = out->tau_problems ? out->tau / (double)out->tau_problems : NAN;
    out->picked = out->picked_problems ? out->picked / (double)out->picked_problems : NAN;
    if (!out->picked_problems)
        out->picked_worst = NAN;
    free(problems);
    free(sorted);
}

static void measure_errors(struct accuracy *out, const struct accuracy_row *rows, size_t count)
{
    double *errors = xcalloc(count, sizeof(*errors)), *ratios = xcalloc(count, sizeof(*ratios));
    double n = (double)count, banded = 0;
    for (size_t i = 0; i < count; i++) {
        assert(rows[i].predicted_ns > 0 && rows[i].measured_ns > 0);
        ratios[i] = rows[i].predicted_ns / rows[i].measured_ns;
        errors[i] = fabs(ratios[i] - 1);
        out->mape += errors[i] / n;
        out->bias += log(ratios[i]) / n;
        out->mean_ratio += ratios[i] / n;
        out->within_10 += errors[i] <= 0.1 ? 1 / n : 0;
        banded += rows[i].band > 0;
        const double off = fabs(log(ratios[i])), one = rows[i].band;
        out->within_sigma += one > 0 && off <= one;
        out->within_2_sigma += one > 0 && off <= rows[i].band_95;
    }
    out->within_sigma /= banded; // 0 / 0 is NaN
    out->within_2_sigma /= banded;
    qsort(errors, count, sizeof(*errors), rising_doubles);
    qsort(ratios, count, sizeof(*ratios), rising_doubles);
    out->median = quantile(errors, count, 0.5);
    out->p90 = quantile(errors, count, 0.9);
    out->p99 = quantile(errors, count, 0.99);
    out->worst = errors[count - 1];
    out->median_ratio = quantile(ratios, count, 0.5);
    out->least_ratio = ratios[0];
    out->most_ratio = ratios[count - 1];
    free(errors);
    free(ratios);
}

struct accuracy accuracy_of(const struct accuracy_row *rows, size_t count)
{
    struct accuracy out = {.rows = count, .tau = NAN, .picked = NAN, .picked_worst = NAN};
    if (count == 0)
        return out;
    out.tau = out.picked = 0;
    measure_errors(&out, rows, count);
    rank_problems(&out, rows, count);
    return out;
}

struct weighted {
    double value, weight;
};

static int by_weighted_value(const void *left, const void *right)
{
    return rising_doubles(&((const struct weighted *)left)->value,
                          &((const struct weighted *)right)->value);
}

// The sum |c x_i - 1| with x_i = peak / measured is least at the median of 1 / x_i weighted by x_i.
double best_utilisation(const double *peak_ns, const double *measured_ns, size_t count)
{
    if (count == 0)
        return NAN;
    struct weighted *items = xcalloc(count, sizeof(*items));
    double total = 0, sum = 0, best = 0;
    for (size_t i = 0; i < count; i++) {
        double x = peak_ns[i] / measured_ns[i];
        items[i] = (struct weighted){1 / x, x};
        total += x;
    }
    qsort(items, count, sizeof(*items), by_weighted_value);
    for (size_t i = 0; i < count && sum < total / 2; i++) {
        sum += items[i].weight;
        best = items[i].value;
    }
    free(items);
    return 1 / best;
}

// ---- the S-curve ----

static int by_ratio(const void *left, const void *right)
{
    const struct accuracy_row *a = left, *b = right;
    double x = a->predicted_ns / a->measured_ns, y = b->predicted_ns / b->measured_ns;
    return (x > y) - (x < y);
}

static struct accuracy_row *sorted_by_ratio(const struct accuracy_row *rows, size_t count)
{
    struct accuracy_row *sorted = xcalloc(count, sizeof(*sorted));
    if (count) {
        memcpy(sorted, rows, count * sizeof(*sorted));
        qsort(sorted, count, sizeof(*sorted), by_ratio);
    }
    return sorted;
}

void accuracy_scurve_csv(struct buffer *out, const struct accuracy_row *rows, size_t count)
{
    struct accuracy_row *sorted = sorted_by_ratio(rows, count);
    struct csv_line line = {.out = out};
    csv_raw(&line, "rank,share,ratio,problem,kernel");
    csv_end(&line, "\n");
    for (size_t i = 0; i < count; i++) {
        csv_int(&line, (int64_t)i + 1);
        csv_rounded(&line, ((double)i + 0.5) / (double)count);
        csv_real(&line, sorted[i].predicted_ns / sorted[i].measured_ns);
        csv_text(&line, sorted[i].problem);
        csv_text(&line, sorted[i].kernel);
        csv_end(&line, "\n");
    }
    free(sorted);
}
