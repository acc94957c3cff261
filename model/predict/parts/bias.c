// SPDX-License-Identifier: Apache-2.0
//
// Fits, finds and applies the difference between prediction and measurement, by kernel and regime.
// ci/settings/gpu_file.c reads and writes the file of these biases.
#include "model/predict/parts/bias.h"

#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_ROWS = 5, TURNS = 8, CROSSED_ROWS = 10, FOLDS = 5 };
// The expected variances of a factor and a slope before any row is seen, in squared bands; and the
// number of rows whose weight they have.
static const double kernel_part = 0.3, slope_part = 1.0 / 12, prior_rows = 100;
static const double offset_sd_ns = 1000;

// The terms that a bias has beside its factor.
struct bias_form {
    bool slope, offset;
};

// A row in logarithms, with its kernel.
struct bias_entry {
    const char *kernel;
    enum regime regime;
    enum dtype in;
    double log_ratio, log_time, band;
};

static int by_kernel(const void *left, const void *right)
{
    const struct bias_entry *a = left, *b = right;
    const int order = strcmp(a->kernel, b->kernel);
    if (order || a->in != b->in)
        return order ? order : a->in < b->in ? -1 : 1;
    return (a->regime > b->regime) - (a->regime < b->regime);
}

static double robust_sigma(double *deviations, size_t count)
{
    for (size_t i = 0; i < count; i++)
        deviations[i] = fabs(deviations[i]);
    return 1.4826 * robust_median(deviations, count);
}

static size_t take_valid(struct bias_entry *out, const struct bias_row *rows, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        double ratio = rows[i].measured_ns / rows[i].predicted_ns;
        if (rows[i].predicted_ns > 0 && rows[i].measured_ns > 0 && isfinite(ratio))
            out[used++] = (struct bias_entry){
                rows[i].kernel, rows[i].regime, rows[i].in, log(ratio), log(rows[i].predicted_ns),
                rows[i].band};
    }
    return used;
}

// Takes the median of rows without bands; leaves the deviations from it in `scratch`.
static void take_median(struct bias *out, const struct bias_entry *entries, size_t count,
                        double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = entries[i].log_ratio;
    out->log_factor = robust_median(scratch, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = entries[i].log_ratio - out->log_factor;
}

// The factor for a prediction. Its size is limited to the range of sizes that were seen.
static double factor_of(const struct bias *b, double log_time)
{
    double from = fmax(b->least, fmin(b->most, log_time)) - b->centre;
    return exp(b->log_factor + b->slope * from);
}

// An offset never takes more than four fifths of a time.
static double biased_ns(const struct bias *b, double log_time)
{
    double ns = exp(log_time) * factor_of(b, log_time);
    return fmax(ns + b->offset_ns, ns / 5);
}

static double rest_of(const struct bias *b, const struct bias_entry *e)
{
    return e->log_ratio + e->log_time - log(biased_ns(b, e->log_time));
}

// The log ratio without the offset.
static double plain_ratio(const struct bias *b, const struct bias_entry *e)
{
    double ns = exp(e->log_ratio + e->log_time);
    return log(fmax(ns - b->offset_ns, ns / 5)) - e->log_time;
}

static void improve_offset(struct bias *b, const struct bias_entry *entries, size_t count)
{
    double sum = 0, lever = 1 / (offset_sd_ns * offset_sd_ns);
    for (size_t i = 0; i < count; i++) {
        const struct bias_entry *e = &entries[i];
        double rest = rest_of(b, e), ns = exp(e->log_time) * factor_of(b, e->log_time);
        double weight = 1 / ((1 - kernel_part) * e->band * e->band + rest * rest);
        sum += weight * (exp(e->log_ratio + e->log_time) / ns - 1) / ns;
        lever += weight / (ns * ns);
    }
    b->offset_ns = sum / lever;
    b->offset_sd_ns = sqrt(1 / lever);
}

// Whether a factor is beyond three of the expected deviations. Then the expectation does not apply:
// a GPU that nobody compared with times, or rows of another GPU, can be off by any factor.
static bool is_far(double log_factor, double prior)
{
    return log_factor * log_factor > 9 * kernel_part * prior;
}

// The expected square of a factor before any row is seen. `prior` is the mean squared band.
static double factor_variance(double log_factor, double prior)
{
    return is_far(log_factor, prior) ? log_factor * log_factor / 9 : kernel_part * prior;
}

static double median_ratio(const struct bias_entry *entries, size_t count)
{
    double *ratios = xcalloc(count, sizeof(*ratios));
    for (size_t i = 0; i < count; i++)
        ratios[i] = entries[i].log_ratio;
    const double median = robust_median(ratios, count);
    free(ratios);
    return median;
}

// Fits again, from sums over the weighted rows. `prior` is the mean squared band.
static void improve(struct bias *b, const struct bias_entry *entries, size_t count, double prior,
                    const struct bias_form *form)
{
    double all = 0, of_time = 0, factor = 0, slope = 0, lever = 0;
    const double noise = 1 - kernel_part;
    double *weights = xcalloc(count, sizeof(*weights));
    for (size_t i = 0; i < count; i++) {
        const struct bias_entry *e = &entries[i];
        double one = noise * e->band * e->band, rest = rest_of(b, e);
        weights[i] = 1 / (one + rest * rest);
        all += weights[i];
        of_time += weights[i] * e->log_time;
    }
    b->centre = of_time / all;
    for (size_t i = 0; i < count; i++) {
        double from = entries[i].log_time - b->centre, ratio = plain_ratio(b, &entries[i]);
        factor += weights[i] * ratio;
        slope += weights[i] * from * ratio;
        lever += weights[i] * from * from;
    }
    const double sure = all + 1 / factor_variance(b->log_factor, prior),
                 steep = lever + 1 / (slope_part * prior);
    b->log_factor = factor / sure;
    b->slope = form->slope ? slope / steep : 0;
    b->factor_sd = sqrt(1 / sure);
    b->slope_sd = form->slope ? sqrt(1 / steep) : 0;
    free(weights);
    if (form->offset)
        improve_offset(b, entries, count);
}

static double mean_squared_band(const struct bias_entry *entries, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += entries[i].band * entries[i].band;
    return sum / (double)count;
}

static void fit_form(struct bias *b, const struct bias_entry *entries, size_t count,
                     const struct bias_form *form)
{
    double prior = mean_squared_band(entries, count);
    b->least = b->most = b->centre = entries[0].log_time;
    b->log_factor = median_ratio(entries, count);
    if (!is_far(b->log_factor, prior))
        b->log_factor = 0;
    b->slope = b->offset_ns = 0;
    for (size_t i = 0; i < count; i++) {
        b->least = entries[i].log_time < b->least ? entries[i].log_time : b->least;
        b->most = entries[i].log_time > b->most ? entries[i].log_time : b->most;
    }
    for (int turn = 0; turn < TURNS; turn++)
        improve(b, entries, count, prior, form);
}

// The mean error of each fifth of the rows, predicted by the other rows.
static double crossed_error(const struct bias_entry *entries, size_t count,
                            const struct bias_form *form)
{
    struct bias_entry *others = xcalloc(count, sizeof(*others));
    double sum = 0;
    for (size_t fold = 0; fold < FOLDS; fold++) {
        struct bias b = {0};
        size_t used = 0;
        for (size_t i = 0; i < count; i++) {
            if (i % FOLDS != fold)
                others[used++] = entries[i];
        }
        fit_form(&b, others, used, form);
        for (size_t i = fold; i < count; i += FOLDS) {
            double rest = rest_of(&b, &entries[i]) / entries[i].band;
            sum += log1p(rest * rest); // so that one row that is far off counts as one
        }
    }
    free(others);
    return sum / (double)count;
}

static struct bias_form choose_form(const struct bias_entry *entries, size_t count)
{
    static const struct bias_form forms[] = {
        {true, false}, {false, false}, {false, true}, {true, true}};
    struct bias_form best = forms[0];
    if (count < CROSSED_ROWS)
        return best;
    double least = INFINITY;
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
        double error = crossed_error(entries, count, &forms[i]);
        if (error < 0.98 * least) { // otherwise the simpler or earlier form stays
            least = error;
            best = forms[i];
        }
    }
    return best;
}

static void take_posterior(struct bias *b, const struct bias_entry *entries, size_t count,
                           double *scratch)
{
    double noise = 1 - kernel_part, n = (double)count;
    const struct bias_form form = choose_form(entries, count);
    fit_form(b, entries, count, &form);
    for (size_t i = 0; i < count; i++)
        scratch[i] = rest_of(b, &entries[i]) / entries[i].band;
    const double seen = robust_sigma(scratch, count);
    if (count >= FEW_ROWS)
        noise = (prior_rows * noise + n * seen * seen) / (prior_rows + n);
    b->spread = sqrt(noise);
    b->band = sqrt(noise * mean_squared_band(entries, count) + b->factor_sd * b->factor_sd);
}

static bool have_bands(const struct bias_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!(entries[i].band > 0))
            return false;
    }
    return true;
}

struct bias_table bias_fit(const struct bias_row *rows, size_t count)
{
    struct bias_entry *entries = xcalloc(count, sizeof(*entries));
    double *deviations = xcalloc(count, sizeof(*deviations)); // of rows without bands
    double *scratch = xcalloc(count, sizeof(*scratch));
    struct bias_table out = {0};
    size_t used = take_valid(entries, rows, count), plain = 0;
    qsort(entries, used, sizeof(*entries), by_kernel);
    out.items = xcalloc(used, sizeof(*out.items));
    for (size_t begin = 0, end; begin < used; begin = end) {
        for (end = begin + 1; end < used && !by_kernel(&entries[begin], &entries[end]);)
            end++;
        struct bias *bias = &out.items[out.count++];
        *bias = (struct bias){.rows = (uint32_t)(end - begin),
                              .regime = entries[begin].regime,
                              .in = entries[begin].in};
        text_copy(bias->kernel, sizeof(bias->kernel), entries[begin].kernel);
        if (have_bands(entries + begin, end - begin)) {
            take_posterior(bias, entries + begin, end - begin, scratch);
            continue;
        }
        take_median(bias, entries + begin, end - begin, deviations + plain);
        memcpy(scratch, deviations + plain, (end - begin) * sizeof(*scratch));
        bias->band = robust_sigma(scratch, end - begin);
        plain += end - begin;
    }
    double rows_sigma = plain ? robust_sigma(deviations, plain) : 0;
    for (size_t i = 0; i < out.count; i++) {
        if (!(out.items[i].spread > 0) && out.items[i].rows < FEW_ROWS)
            out.items[i].band = rows_sigma;
    }
    free(entries);
    free(deviations);
    free(scratch);
    return out;
}

void bias_table_free(struct bias_table *table)
{
    free(table->items);
    *table = (struct bias_table){0};
}

int bias_order(const void *left, const void *right)
{
    const struct bias *a = left, *b = right;
    const struct bias_entry x = {.kernel = a->kernel, .regime = a->regime, .in = a->in};
    return by_kernel(&x,
                     &(struct bias_entry){.kernel = b->kernel, .regime = b->regime, .in = b->in});
}

const struct bias *bias_find(const struct bias_table *table, const char *kernel,
                             const struct problem *problem)
{
    struct bias key = {.regime = problem->regime, .in = problem->in};
    if (table->count == 0 || !text_copy(key.kernel, sizeof(key.kernel), kernel))
        return NULL;
    return bsearch(&key, table->items, table->count, sizeof(*table->items), bias_order);
}

void bias_apply(struct prediction *p, const struct bias_table *table, const char *kernel,
                const struct problem *problem)
{
    const struct bias *bias = p->feasible ? bias_find(table, kernel, problem) : NULL;
    if (!bias)
        return;
    const double own = p->band, time = log(p->time_ns), factor = factor_of(bias, time);
    const double from = fmax(bias->least, fmin(bias->most, time)) - bias->centre;
    const double biased = biased_ns(bias, time), offset = biased - p->time_ns * factor;
    for (size_t i = 0; i < p->part_count; i++)
        p->parts[i].time_ns *= factor;
    p->time_ns = biased;
    p->bias_rows = bias->rows;
    if (fabs(offset) > 1e-9 * biased && p->part_count < PREDICTION_PARTS)
        p->parts[p->part_count++] = (struct prediction_part){"offset", offset};
    const double tail = own > 0 ? p->band_95 / own : 2;
    p->band = bias->band;
    if (own > 0 && bias->spread > 0)
        p->band = sqrt(own * own * bias->spread * bias->spread + bias->factor_sd * bias->factor_sd +
                       from * from * bias->slope_sd * bias->slope_sd +
                       bias->offset_sd_ns * bias->offset_sd_ns / (biased * biased));
    p->band_95 = tail * p->band;
}
