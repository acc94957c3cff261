// SPDX-License-Identifier: Apache-2.0
//
// A model's errors on measured rows, and its S-curve. The best constant utilisation and the picking
// of configurations stand beside, as what a model has to beat.
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
    double score = 0, pairs_a = 0, pairs_b = 0; // pairs that a, b do not tie
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

// sum |c x_i - 1| with x_i = peak / measured is least at the median of 1 / x_i weighted by x_i.
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

enum { LEFT = 56, TOP = 34, WIDTH = 640, HEIGHT = 320 };

// Labels up to twice, and beyond that powers of two, for which there is room.
static const double near_ticks[] = {1, 1.1, 1.2, 1.4, 1.6, 1.8, 2};

// Ratios on a logarithmic axis from 1/range to range: twice and half are equally far from 1.
static double y_of(double ratio, double range)
{
    double at = log(ratio) / log(range); // -1..1
    at = at > 1 ? 1 : at < -1 ? -1 : at;
    return TOP + HEIGHT * (1 - at) / 2;
}

static void draw_tick(struct buffer *out, double ratio, double y)
{
    buffer_printf(out,
                  "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>"
                  "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>\n",
                  LEFT, LEFT + WIDTH, y, y, ratio == 1 ? "#555" : "#e4e4e4", LEFT - 6, y + 4,
                  ratio);
}

static void draw_caption(struct buffer *out)
{
    buffer_printf(out,
                  "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">rows, sorted by predicted / "
                  "measured</text>\n",
                  LEFT + WIDTH / 2, TOP + HEIGHT + 24);
}

static void draw_axes(struct buffer *out, double range)
{
    static const double below[] = {0.9, 0.8, 0.7, 0.6, 0.5};
    const bool near = range <= 2;
    for (size_t i = 0; i < ARRAY_COUNT(near_ticks) && near; i++)
        draw_tick(out, near_ticks[i], y_of(near_ticks[i], range));
    for (size_t i = 0; i < ARRAY_COUNT(below) && near; i++)
        draw_tick(out, below[i], y_of(below[i], range));
    for (double ratio = 1; ratio <= range && !near; ratio *= range > 64 ? 4 : 2) {
        draw_tick(out, ratio, y_of(ratio, range));
        if (ratio > 1)
            draw_tick(out, 1 / ratio, y_of(1 / ratio, range));
    }
    draw_caption(out);
}

static void begin_figure(struct buffer *out, const char *title)
{
    buffer_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                  "font-family=\"sans-serif\" font-size=\"12\">\n<text x=\"%d\" y=\"20\" "
                  "font-size=\"15\">",
                  LEFT + WIDTH + 16, TOP + HEIGHT + 36, LEFT);
    buffer_xml(out, title);
    buffer_puts(out, "</text>\n");
}

void accuracy_scurve_svg(struct buffer *out, const struct accuracy_row *rows, size_t count,
                         const char *title)
{
    struct accuracy_row *sorted = sorted_by_ratio(rows, count);
    double range = 2;
    while (count && range < 1024 &&
           (sorted[count - 1].predicted_ns / sorted[count - 1].measured_ns > range ||
            sorted[0].predicted_ns / sorted[0].measured_ns < 1 / range))
        range *= 2;
    begin_figure(out, title);
    draw_axes(out, range);
    buffer_puts(out, "<polyline fill=\"none\" stroke=\"#4477aa\" stroke-width=\"2\" points=\"");
    for (size_t i = 0; i < count; i++)
        buffer_printf(out, "%.2f,%.2f ", LEFT + WIDTH * ((double)i + 0.5) / (double)count,
                      y_of(sorted[i].predicted_ns / sorted[i].measured_ns, range));
    buffer_puts(out, "\"/>\n</svg>\n");
    free(sorted);
}

void accuracy_bars_svg(struct buffer *out, const struct accuracy_row *rows, size_t count,
                       const char *title)
{
    struct accuracy_row *sorted = sorted_by_ratio(rows, count);
    const size_t bars = count < WIDTH ? count : WIDTH;
    double top = 0;
    for (size_t i = 0; i < count; i++)
        top = most(top, sorted[i].predicted_ns / sorted[i].measured_ns);
    const double step = round_step(most(top, 1), 10);
    top = ceil(most(top, 1) / step) * step;
    begin_figure(out, title);
    for (int i = 0; i * step <= top * (1 + 1e-9); i++)
        draw_tick(out, i * step, TOP + HEIGHT * (1 - i * step / top));
    buffer_puts(out, "<path fill=\"#4477aa\" d=\"");
    for (size_t i = 0; i < bars; i++) {
        const struct accuracy_row *row = &sorted[bars < 2 ? 0 : i * (count - 1) / (bars - 1)];
        double height = HEIGHT * row->predicted_ns / row->measured_ns / top;
        double wide = (double)WIDTH / (double)bars;
        buffer_printf(out, "M%.2f %dv-%.2fh%.2fv%.2fz ", LEFT + wide * ((double)i + 0.1),
                      TOP + HEIGHT, height, wide * 0.8, height);
    }
    buffer_puts(out, "\"/>\n");
    buffer_printf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#555\"/>\n",
                  LEFT, LEFT + WIDTH, TOP + HEIGHT * (1 - 1 / top), TOP + HEIGHT * (1 - 1 / top));
    draw_caption(out);
    buffer_puts(out, "</svg>\n");
    free(sorted);
}
