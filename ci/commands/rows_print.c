// SPDX-License-Identifier: Apache-2.0
//
// Predictions as CSV, JSON or a table, row by row as they are made.
#include "ci/commands/rows_print.h"

#include "model/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void bound_text(char out[160], const struct prediction *prediction)
{
    if (prediction->feasible)
        snprintf(out, 160, "%s", bound_name(prediction->bound));
    else
        snprintf(out, 160, "infeasible: %s", prediction->why);
}

// ---- parts ----

enum part {
    PART_FIXED,
    PART_FIRST_LOAD,
    PART_MAIN_LOOP,
    PART_EPILOGUE,
    PART_WAVES,
    PART_RATIO,
    PARTS
};
static const char *const part_columns[PARTS] = {"fixed_us",    "first_load_us", "main_loop_us",
                                                "epilogue_us", "waves",         "ratio"};

// Which column a model's own part belongs to; what is not named is the main loop's.
static enum part part_of(const char *name)
{
    static const struct {
        const char *name;
        enum part part;
    } known[] = {{"launch", PART_FIXED},        {"overhead", PART_FIXED},
                 {"fill", PART_FIRST_LOAD},     {"first-dma", PART_FIRST_LOAD},
                 {"prologue", PART_FIRST_LOAD}, {"tile-overhead", PART_EPILOGUE},
                 {"last-store", PART_EPILOGUE}, {"epilogue", PART_EPILOGUE},
                 {"split-k", PART_EPILOGUE},    {"transpose", PART_FIXED}};
    for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
        if (strcmp(known[i].name, name) == 0)
            return known[i].part;
    }
    return PART_MAIN_LOOP;
}

static double waves_of(const struct predict_input *in)
{
    const struct problem *p = in->problem;
    const struct traits *t = in->traits;
    double m = t->tile_m > 0 ? t->tile_m : 128, n = t->tile_n > 0 ? t->tile_n : 128;
    double tiles = ceil((double)p->m / m) * ceil((double)p->n / n) * p->batch;
    return in->gpu->sm_count.value > 0 ? tiles / in->gpu->sm_count.value : 0;
}

// NaN: the column has no value here.
static void parts_of(double values[PARTS], const struct predict_input *in,
                     const struct prediction *prediction, double measured_us)
{
    for (int i = 0; i < PARTS; i++)
        values[i] = prediction->feasible ? 0 : NAN;
    if (!prediction->feasible)
        return;
    double rest = prediction->time_ns / 1e3;
    for (size_t i = 0; i < prediction->part_count; i++) {
        enum part part = part_of(prediction->parts[i].name);
        if (part == PART_MAIN_LOOP)
            continue;
        values[part] += prediction->parts[i].time_ns / 1e3;
        rest -= prediction->parts[i].time_ns / 1e3;
    }
    values[PART_MAIN_LOOP] = rest > 0 ? rest : 0;
    values[PART_WAVES] = waves_of(in);
    values[PART_RATIO] = measured_us > 0 ? prediction->time_ns / 1e3 / measured_us : NAN;
}

// One field and what follows it.
static void print_field(const struct rows_printer *p, const char *text)
{
    if (p->format == FORMAT_TABLE) {
        buffer_printf(p->out, "%-10s ", text);
        return;
    }
    buffer_csv(p->out, csv_plain(text)); // it may come from one of our own tables
    buffer_puts(p->out, ",");
}

static bool is_result(const char *column)
{
    return strcmp(column, "predicted_us") == 0 || strcmp(column, "bound") == 0;
}

void rows_print_header(const struct rows_printer *p)
{
    if (p->format == FORMAT_JSON) {
        buffer_puts(p->out, "{\"predictions\":[");
        return;
    }
    for (size_t i = 0; i < p->csv->columns; i++) {
        if (!is_result(p->csv->header[i]))
            print_field(p, p->csv->header[i]);
    }
    buffer_puts(p->out, p->format == FORMAT_CSV ? "predicted_us,bound" : "predicted_us   bound");
    for (int i = 0; i < PARTS && p->parts; i++)
        buffer_printf(p->out, p->format == FORMAT_CSV ? ",%s" : " %-13s", part_columns[i]);
    buffer_puts(p->out, "\n");
}

static void print_json(const struct rows_printer *p, size_t row, double time_us, const char *bound,
                       const double parts[PARTS])
{
    struct json json = {.out = p->out};
    buffer_puts(p->out, p->rows ? ",\n" : "\n");
    json_begin(&json, NULL, '{');
    for (size_t i = 0; i < p->csv->columns; i++) {
        const char *name = p->csv->header[i], *text = p->csv->rows[row].fields[i];
        double number;
        if (is_result(name))
            continue;
        if (parse_double(&number, text) == 0)
            json_number(&json, name, number);
        else
            json_text(&json, name, text);
    }
    json_number(&json, "predicted_us", time_us);
    json_text(&json, "bound", bound);
    for (int i = 0; i < PARTS && p->parts; i++)
        json_number(&json, part_columns[i], parts[i]);
    json_end(&json, '}');
}

static void print_line(const struct rows_printer *p, size_t row, double time_us, const char *bound,
                       const double parts[PARTS])
{
    const bool csv = p->format == FORMAT_CSV;
    for (size_t i = 0; i < p->csv->columns; i++) {
        if (!is_result(p->csv->header[i]))
            print_field(p, p->csv->rows[row].fields[i]);
    }
    if (isfinite(time_us))
        csv ? buffer_number(p->out, time_us) : buffer_printf(p->out, "%-14.4f", time_us);
    buffer_puts(p->out, csv ? "," : " ");
    buffer_csv(p->out, bound);
    for (int i = 0; i < PARTS && p->parts; i++) {
        buffer_puts(p->out, csv ? "," : " ");
        if (isfinite(parts[i]))
            csv ? buffer_number(p->out, parts[i]) : buffer_printf(p->out, "%-13.4f", parts[i]);
        else if (!csv)
            buffer_printf(p->out, "%-13s", "-");
    }
    buffer_puts(p->out, "\n");
}

void rows_print_row(struct rows_printer *p, size_t row, const struct predict_input *in,
                    const struct prediction *prediction, double measured_us)
{
    double parts[PARTS], time_us = prediction->feasible ? prediction->time_ns / 1e3 : NAN;
    char bound[160];
    bound_text(bound, prediction);
    parts_of(parts, in, prediction, measured_us);
    if (p->format == FORMAT_JSON)
        print_json(p, row, time_us, bound, parts);
    else
        print_line(p, row, time_us, bound, parts);
    p->rows++;
}

void rows_print_end(const struct rows_printer *p)
{
    if (p->format == FORMAT_JSON)
        buffer_puts(p->out, "\n]}\n");
}
