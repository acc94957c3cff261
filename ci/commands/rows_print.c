// SPDX-License-Identifier: Apache-2.0
//
// Predictions as CSV, JSON or a table, row by row as they are made.
#include "ci/commands/rows_print.h"

#include <stdio.h>
#include <string.h>

static void print_time(const struct rows_printer *p, const struct prediction *prediction)
{
    if (!prediction->feasible)
        buffer_puts(p->out, p->format == FORMAT_JSON ? "null" : "");
    else if (p->format == FORMAT_TABLE)
        buffer_printf(p->out, "%-14.4f", prediction->time_ns / 1e3);
    else
        buffer_number(p->out, prediction->time_ns / 1e3);
}

static void bound_text(char out[160], const struct prediction *prediction)
{
    if (prediction->feasible)
        snprintf(out, 160, "%s", bound_name(prediction->bound));
    else
        snprintf(out, 160, "infeasible: %s", prediction->why);
}

// One field and what follows it.
static void print_field(const struct rows_printer *p, const char *text)
{
    if (p->format == FORMAT_TABLE) {
        buffer_printf(p->out, "%-10s ", text);
        return;
    }
    buffer_csv(p->out, text);
    buffer_puts(p->out, ",");
}

static bool is_result(const char *column)
{
    return strcmp(column, "predicted_us") == 0 || strcmp(column, "bound") == 0;
}

void rows_print_header(const struct rows_printer *p)
{
    if (p->format == FORMAT_JSON) {
        buffer_puts(p->out, "[");
        return;
    }
    for (size_t i = 0; i < p->csv->columns; i++) {
        if (!is_result(p->csv->header[i]))
            print_field(p, p->csv->header[i]);
    }
    buffer_puts(p->out,
                p->format == FORMAT_CSV ? "predicted_us,bound\n" : "predicted_us   bound\n");
}

static void print_json_field(const struct rows_printer *p, const char *name, const char *text)
{
    double number;
    buffer_puts(p->out, "\"");
    buffer_json(p->out, name, "");
    buffer_puts(p->out, "\": ");
    if (parse_double(&number, text) == 0) {
        buffer_number(p->out, number);
    } else {
        buffer_puts(p->out, "\"");
        buffer_json(p->out, text, "");
        buffer_puts(p->out, "\"");
    }
    buffer_puts(p->out, ", ");
}

void rows_print_row(struct rows_printer *p, size_t row, const struct prediction *prediction)
{
    char bound[160];
    bool json = p->format == FORMAT_JSON;
    bound_text(bound, prediction);
    if (json)
        buffer_puts(p->out, p->rows ? ",\n{" : "\n{");
    for (size_t i = 0; i < p->csv->columns; i++) {
        const char *name = p->csv->header[i], *text = p->csv->rows[row].fields[i];
        if (is_result(name))
            continue;
        if (json)
            print_json_field(p, name, text);
        else
            print_field(p, text);
    }
    buffer_puts(p->out, json ? "\"predicted_us\": " : "");
    print_time(p, prediction);
    buffer_puts(p->out, json ? ", \"bound\": \"" : p->format == FORMAT_CSV ? "," : " ");
    if (json)
        buffer_json(p->out, bound, "");
    else
        buffer_csv(p->out, bound);
    buffer_puts(p->out, json ? "\"}" : "\n");
    p->rows++;
}

void rows_print_end(const struct rows_printer *p)
{
    if (p->format == FORMAT_JSON)
        buffer_puts(p->out, "\n]\n");
}
