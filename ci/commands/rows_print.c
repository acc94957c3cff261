// SPDX-License-Identifier: Apache-2.0
//
// Predictions as CSV, JSON or a table, row by row as they are made.
#include "ci/commands/rows_print.h"

#include <stdio.h>
#include <string.h>

static void print_time(const struct rows_printer *p, const struct prediction *prediction)
{
    if (!prediction->feasible)
        sink_text(p->sink, p->format == FORMAT_JSON ? "null" : "");
    else if (p->format == FORMAT_TABLE)
        sink_printf(p->sink, "%-14.4f", prediction->time_ns / 1e3);
    else
        sink_number(p->sink, prediction->time_ns / 1e3);
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
        sink_printf(p->sink, "%-10s ", text);
        return;
    }
    sink_csv_field(p->sink, text);
    sink_text(p->sink, ",");
}

static bool is_result(const char *column)
{
    return strcmp(column, "predicted_us") == 0 || strcmp(column, "bound") == 0;
}

void rows_print_header(const struct rows_printer *p)
{
    if (p->format == FORMAT_JSON) {
        sink_text(p->sink, "[");
        return;
    }
    for (size_t i = 0; i < p->csv->columns; i++) {
        if (!is_result(p->csv->header[i]))
            print_field(p, p->csv->header[i]);
    }
    sink_text(p->sink, p->format == FORMAT_CSV ? "predicted_us,bound\n" : "predicted_us   bound\n");
}

static void print_json_field(const struct rows_printer *p, const char *name, const char *text)
{
    double number;
    sink_text(p->sink, "\"");
    sink_json_text(p->sink, name);
    sink_text(p->sink, "\": ");
    if (parse_double(&number, text) == 0) {
        sink_number(p->sink, number);
    } else {
        sink_text(p->sink, "\"");
        sink_json_text(p->sink, text);
        sink_text(p->sink, "\"");
    }
    sink_text(p->sink, ", ");
}

void rows_print_row(struct rows_printer *p, size_t row, const struct prediction *prediction)
{
    char bound[160];
    bool json = p->format == FORMAT_JSON;
    bound_text(bound, prediction);
    if (json)
        sink_text(p->sink, p->rows ? ",\n{" : "\n{");
    for (size_t i = 0; i < p->csv->columns; i++) {
        const char *name = p->csv->header[i], *text = p->csv->rows[row].fields[i];
        if (is_result(name))
            continue;
        if (json)
            print_json_field(p, name, text);
        else
            print_field(p, text);
    }
    sink_text(p->sink, json ? "\"predicted_us\": " : "");
    print_time(p, prediction);
    sink_text(p->sink, json ? ", \"bound\": \"" : p->format == FORMAT_CSV ? "," : " ");
    if (json)
        sink_json_text(p->sink, bound);
    else
        sink_csv_field(p->sink, bound);
    sink_text(p->sink, json ? "\"}" : "\n");
    p->rows++;
}

void rows_print_end(const struct rows_printer *p)
{
    if (p->format == FORMAT_JSON)
        sink_text(p->sink, "\n]\n");
}
