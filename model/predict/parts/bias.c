// SPDX-License-Identifier: Apache-2.0
//
// One factor per kernel between prediction and measurement: fitted, looked up and applied. The file
// that keeps them is ci/settings/bias_file.c.
#include "model/predict/parts/bias.h"

#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_ROWS = 5, TURNS = 8 };
// What is expected before a row is seen, in bands squared, and the rows that weigh as much.
static const double kernel_part = 0.25, slope_part = 1.0 / 12, prior_rows = 300;

// A row's logarithm with the kernel it belongs to.
struct entry {
    const char *kernel;
    double log_ratio, log_time, band;
};

static int by_kernel(const void *left, const void *right)
{
    return strcmp(((const struct entry *)left)->kernel, ((const struct entry *)right)->kernel);
}

static double robust_sigma(double *deviations, size_t count)
{
    for (size_t i = 0; i < count; i++)
        deviations[i] = fabs(deviations[i]);
    return 1.4826 * robust_median(deviations, count);
}

static size_t take_valid(struct entry *out, const struct bias_row *rows, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        double ratio = rows[i].measured_ns / rows[i].predicted_ns;
        if (rows[i].predicted_ns > 0 && rows[i].measured_ns > 0 && isfinite(ratio))
            out[used++] =
                (struct entry){rows[i].kernel, log(ratio), log(rows[i].predicted_ns), rows[i].band};
    }
    return used;
}

// Of rows without bands: the median; leaves the deviations from it in `scratch`.
static void take_median(struct bias *out, const struct entry *entries, size_t count,
                        double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = entries[i].log_ratio;
    out->log_factor = robust_median(scratch, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = entries[i].log_ratio - out->log_factor;
}

static double rest_of(const struct bias *b, const struct entry *e)
{
    return e->log_ratio - b->log_factor - b->slope * (e->log_time - b->centre);
}

// Sums over the rows with their weights; `prior` is the mean band squared.
static void improve(struct bias *b, const struct entry *entries, size_t count, double prior)
{
    double all = 0, of_time = 0, factor = 0, slope = 0, lever = 0;
    const double noise = 1 - kernel_part;
    double *weights = xcalloc(count, sizeof(*weights));
    for (size_t i = 0; i < count; i++) {
        const struct entry *e = &entries[i];
        double one = noise * e->band * e->band, rest = rest_of(b, e);
        weights[i] = 1 / (one + rest * rest);
        all += weights[i];
        of_time += weights[i] * e->log_time;
    }
    b->centre = of_time / all;
    for (size_t i = 0; i < count; i++) {
        double from = entries[i].log_time - b->centre;
        factor += weights[i] * entries[i].log_ratio;
        slope += weights[i] * from * entries[i].log_ratio;
        lever += weights[i] * from * from;
    }
    const double sure = all + 1 / (kernel_part * prior), steep = lever + 1 / (slope_part * prior);
    b->log_factor = factor / sure;
    b->slope = slope / steep;
    b->factor_sd = sqrt(1 / sure);
    b->slope_sd = sqrt(1 / steep);
    free(weights);
}

static void take_posterior(struct bias *b, const struct entry *entries, size_t count,
                           double *scratch)
{
    double prior = 0, noise = 1 - kernel_part, n = (double)count;
    b->least = b->most = b->centre = entries[0].log_time;
    for (size_t i = 0; i < count; i++) {
        prior += entries[i].band * entries[i].band / n;
        b->least = entries[i].log_time < b->least ? entries[i].log_time : b->least;
        b->most = entries[i].log_time > b->most ? entries[i].log_time : b->most;
    }
    for (int turn = 0; turn < TURNS; turn++)
        improve(b, entries, count, prior);
    for (size_t i = 0; i < count; i++)
        scratch[i] = rest_of(b, &entries[i]) / entries[i].band;
    const double seen = robust_sigma(scratch, count);
    if (count >= FEW_ROWS)
        noise = (prior_rows * noise + n * seen * seen) / (prior_rows + n);
    b->spread = sqrt(noise);
    b->band = sqrt(noise * prior + b->factor_sd * b->factor_sd);
}

static bool have_bands(const struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!(entries[i].band > 0))
            return false;
    }
    return true;
}

struct bias_table bias_fit(const struct bias_row *rows, size_t count)
{
    struct entry *entries = xcalloc(count, sizeof(*entries));
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
        *bias = (struct bias){.rows = (uint32_t)(end - begin)};
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

static int named(const void *kernel, const void *bias)
{
    return strcmp(kernel, ((const struct bias *)bias)->kernel);
}

const struct bias *bias_find(const struct bias_table *table, const char *kernel)
{
    if (table->count == 0)
        return NULL;
    return bsearch(kernel, table->items, table->count, sizeof(*table->items), named);
}

void bias_apply(struct prediction *p, const struct bias_table *table, const char *kernel)
{
    const struct bias *bias = bias_find(table, kernel);
    if (!bias || !p->feasible)
        return;
    const double own = p->band, time = log(p->time_ns);
    const double from = fmax(bias->least, fmin(bias->most, time)) - bias->centre;
    const double factor = exp(bias->log_factor + bias->slope * from);
    p->time_ns *= factor;
    for (size_t i = 0; i < p->part_count; i++)
        p->parts[i].time_ns *= factor;
    p->band = bias->band;
    if (own > 0 && bias->spread > 0)
        p->band = sqrt(own * own * bias->spread * bias->spread + bias->factor_sd * bias->factor_sd +
                       from * from * bias->slope_sd * bias->slope_sd);
}
