// SPDX-License-Identifier: Apache-2.0
//
// One factor per kernel between prediction and measurement: fitted, looked up and applied. The file
// that keeps them is ci/settings/bias_file.c.
#include "model/predict/parts/bias.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_ROWS = 5 };

// A row's logarithm with the kernel it belongs to.
struct entry {
    const char *kernel;
    double log_ratio, band;
};

static int by_kernel(const void *left, const void *right)
{
    return strcmp(((const struct entry *)left)->kernel, ((const struct entry *)right)->kernel);
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

// Sorts `values`.
static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double robust_sigma(double *deviations, size_t count)
{
    for (size_t i = 0; i < count; i++)
        deviations[i] = fabs(deviations[i]);
    return 1.4826 * median(deviations, count);
}

static size_t take_valid(struct entry *out, const struct bias_row *rows, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        double ratio = rows[i].measured_ns / rows[i].predicted_ns;
        if (rows[i].predicted_ns > 0 && rows[i].measured_ns > 0 && isfinite(ratio))
            out[used++] = (struct entry){rows[i].kernel, log(ratio), rows[i].band};
    }
    return used;
}

// The group of one kernel: its factor; leaves the deviations from it in `scratch`.
static struct bias fit_one(const struct entry *entries, size_t count, double *scratch)
{
    struct bias out = {.rows = (uint32_t)count};
    text_copy(out.kernel, sizeof(out.kernel), entries[0].kernel);
    for (size_t i = 0; i < count; i++)
        scratch[i] = entries[i].log_ratio;
    out.log_factor = median(scratch, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = entries[i].log_ratio - out.log_factor;
    return out;
}

// What the prediction's own band says beforehand is corrected by the rows.
static void settle(struct bias *b, double expected, double rows_sigma)
{
    const double kernel_share = 1.0 / 3, prior_rows = 40, n = b->rows;
    if (!(expected > 0)) {
        b->band = b->rows < FEW_ROWS ? rows_sigma : b->band;
        return;
    }
    double tau = kernel_share * expected * expected, sigma = expected * expected - tau;
    double left = sigma / tau / (n + sigma / tau); // of the prior
    b->log_factor *= 1 - left;
    if (b->rows >= FEW_ROWS)
        sigma = (prior_rows * sigma + n * b->band * b->band) / (prior_rows + n);
    b->band = sqrt(sigma + tau * left);
}

struct bias_table bias_fit(const struct bias_row *rows, size_t count)
{
    struct entry *entries = xcalloc(count, sizeof(*entries));
    double *deviations = xcalloc(count, sizeof(*deviations)); // of every row from its kernel
    double *scratch = xcalloc(count, sizeof(*scratch));
    struct bias_table out = {0};
    size_t used = take_valid(entries, rows, count);
    qsort(entries, used, sizeof(*entries), by_kernel);
    out.items = xcalloc(used, sizeof(*out.items));
    double *expected = xcalloc(used, sizeof(*expected)); // of each kernel, before its rows
    for (size_t begin = 0, end; begin < used; begin = end) {
        for (end = begin + 1; end < used && !by_kernel(&entries[begin], &entries[end]);)
            end++;
        struct bias *bias = &out.items[out.count++];
        *bias = fit_one(entries + begin, end - begin, deviations + begin);
        memcpy(scratch, deviations + begin, (end - begin) * sizeof(*scratch));
        bias->band = robust_sigma(scratch, end - begin);
        for (size_t i = begin; i < end; i++)
            expected[out.count - 1] += entries[i].band / (double)(end - begin);
    }
    double rows_sigma = used ? robust_sigma(deviations, used) : 0;
    for (size_t i = 0; i < out.count; i++)
        settle(&out.items[i], expected[i], rows_sigma);
    free(expected);
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
    double factor = exp(bias->log_factor);
    p->time_ns *= factor;
    for (size_t i = 0; i < p->part_count; i++)
        p->parts[i].time_ns *= factor;
    p->band = bias->band;
}
