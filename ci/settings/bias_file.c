// SPDX-License-Identifier: Apache-2.0
//
// The file of calibrated biases, written and read with line numbers in its errors. How a bias is
// fitted and applied is model/predict/parts/bias.c.
#include "ci/settings/bias_file.h"

#include "ci/settings/rows.h"
#include "ci/settings/text_file.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Further columns of a bias with a slope; a file may lack them.
static const struct {
    const char *name;
    size_t at;
} further[] = {
    {"slope", offsetof(struct bias, slope)},
    {"centre", offsetof(struct bias, centre)},
    {"least", offsetof(struct bias, least)},
    {"most", offsetof(struct bias, most)},
    {"spread", offsetof(struct bias, spread)},
    {"factor_sd", offsetof(struct bias, factor_sd)},
    {"slope_sd", offsetof(struct bias, slope_sd)},
    {"offset_ns", offsetof(struct bias, offset_ns)},
    {"offset_sd_ns", offsetof(struct bias, offset_sd_ns)},
};

int bias_file_write(const char *path, const struct bias_table *table, const struct model *model,
                    const char *inputs, struct error *err)
{
    struct buffer text = {0};
    char *said = xprintf("# fitted to %s\n", inputs);
    for (char *c = said; c[1]; c++) { // one line, whatever the file's name holds
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    }
    buffer_puts(&text, said);
    free(said);
    struct csv_line line = {.out = &text};
    csv_raw(&line, "kernel,log_factor,band,rows,model,version");
    for (size_t i = 0; i < ARRAY_COUNT(further); i++)
        csv_text(&line, further[i].name);
    csv_raw(&line, "type,regime");
    csv_end(&line, "\n");
    for (size_t i = 0; i < table->count; i++) {
        const struct bias *b = &table->items[i];
        csv_text(&line, b->kernel);
        csv_real(&line, b->log_factor);
        csv_real(&line, b->band);
        csv_int(&line, b->rows);
        csv_text(&line, model->name);
        csv_text(&line, model->version);
        for (size_t j = 0; j < ARRAY_COUNT(further); j++)
            csv_real(&line, *(const double *)(const void *)((const char *)b + further[j].at));
        csv_text(&line, dtype_name(b->in));
        csv_text(&line, regime_name(b->regime));
        csv_end(&line, "\n");
    }
    int result = text_file_write(path, &text, err);
    buffer_free(&text);
    return result;
}

static int read_further(struct bias *out, const struct csv *csv, size_t row, const char *path,
                        struct error *err)
{
    for (size_t i = 0; i < ARRAY_COUNT(further); i++) {
        const int column = csv_column(csv, further[i].name);
        const double most = strncmp(further[i].name, "offset", 6) == 0 ? 1e6 : 100;
        double *value = (double *)(void *)((char *)out + further[i].at);
        if (column >= 0 &&
            (parse_double(value, csv->rows[row].fields[column]) || !(fabs(*value) < most)))
            return error_set(err, "%s:%zu: %s must be a number within +-%g", path,
                             csv->rows[row].line, further[i].name, most);
    }
    const int type = csv_column(csv, "type"), regime = csv_column(csv, "regime");
    if (type >= 0 && dtype_parse(&out->in, csv->rows[row].fields[type]))
        return error_set(err, "%s:%zu: type is '%.40s', which is none", path, csv->rows[row].line,
                         csv->rows[row].fields[type]);
    if (regime >= 0 && regime_parse(&out->regime, csv->rows[row].fields[regime]))
        return error_set(err, "%s:%zu: regime is '%.40s', which is none", path, csv->rows[row].line,
                         csv->rows[row].fields[regime]);
    if (fabs(out->slope) > 0.5 || out->spread < 0 || out->least > out->most)
        return error_set(err,
                         "%s:%zu: a slope is within +-0.5, a spread not negative, and least is not "
                         "above most",
                         path, csv->rows[row].line);
    return 0;
}

static int read_row(struct bias *out, const struct csv *csv, const int columns[6], size_t row,
                    const char *path, const struct model *model, struct error *err)
{
    const char **f = csv->rows[row].fields;
    size_t line = csv->rows[row].line;
    if (strcmp(f[columns[4]], model->name) || strcmp(f[columns[5]], model->version))
        return error_set(err, "%s:%zu: fitted to model %.40s %.20s, not %s %s; fit again", path,
                         line, f[columns[4]], f[columns[5]], model->name, model->version);
    int64_t rows;
    if (parse_double(&out->log_factor, f[columns[1]]) || fabs(out->log_factor) > 10 ||
        parse_double(&out->band, f[columns[2]]) || !(out->band >= 0) || out->band > 10 ||
        parse_int64(&rows, f[columns[3]]) || rows < 1 || rows > INT32_MAX ||
        !text_copy(out->kernel, sizeof(out->kernel), csv_plain(f[columns[0]])))
        return error_set(err,
                         "%s:%zu: a bias is a kernel, a factor and a band within +-10, and "
                         "a number of rows",
                         path, line);
    out->rows = (uint32_t)rows;
    return read_further(out, csv, row, path, err);
}

int bias_file_read(struct bias_table *out, const char *path, const struct model *model,
                   struct error *err)
{
    static const char *const names[] = {"kernel", "log_factor", "band", "rows", "model", "version"};
    int columns[6], result = 0;
    struct csv csv = {0};
    if (rows_open(&csv, path, err))
        return -1;
    struct bias_table table = {.items = xcalloc(csv.count, sizeof(*table.items))};
    for (size_t i = 0; i < ARRAY_COUNT(names) && result == 0; i++) {
        columns[i] = csv_column(&csv, names[i]);
        if (columns[i] < 0)
            result =
                error_set(err, "%s: no column '%s'; is this a file of biases?", path, names[i]);
    }
    for (size_t i = 0; i < csv.count && result == 0; i++)
        result = read_row(&table.items[table.count++], &csv, columns, i, path, model, err);
    csv_free(&csv);
    if (result) {
        bias_table_free(&table);
        return -1;
    }
    qsort(table.items, table.count, sizeof(*table.items), bias_order);
    *out = table;
    return 0;
}
