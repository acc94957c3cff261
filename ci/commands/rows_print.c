// SPDX-License-Identifier: Apache-2.0
//
// Predictions as CSV, JSON or a table, row by row as they are made.
#include "ci/commands/rows_print.h"

#include <math.h>
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

static void print_parts(const struct rows_printer *p, const struct predict_input *in,
                        const struct prediction *prediction, double measured_us)
{
    double values[PARTS] = {0};
    bool known[PARTS] = {0};
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
    for (int i = 0; i <= PART_WAVES; i++)
        known[i] = prediction->feasible;
    known[PART_RATIO] = prediction->feasible && measured_us > 0;
    if (known[PART_RATIO])
        values[PART_RATIO] = prediction->time_ns / 1e3 / measured_us;
    for (int i = 0; i < PARTS; i++) {
        if (p->format == FORMAT_JSON)
            buffer_printf(p->out, ", \"%s\": ", part_columns[i]);
        else
            buffer_puts(p->out, p->format == FORMAT_CSV ? "," : " ");
        if (p->format == FORMAT_TABLE)
            known[i] ? buffer_printf(p->out, "%-13.4f", values[i])
                     : buffer_printf(p->out, "%-13s", "-");
        else if (known[i])
            buffer_number(p->out, values[i]);
        else
            buffer_puts(p->out, p->format == FORMAT_JSON ? "null" : "");
    }
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
    buffer_puts(p->out, p->format == FORMAT_CSV ? "predicted_us,bound" : "predicted_us   bound");
    for (int i = 0; i < PARTS && p->parts; i++)
        buffer_printf(p->out, p->format == FORMAT_CSV ? ",%s" : " %-13s", part_columns[i]);
    buffer_puts(p->out, "\n");
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

void rows_print_row(struct rows_printer *p, size_t row, const struct predict_input *in,
                    const struct prediction *prediction, double measured_us)
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
    buffer_puts(p->out, json ? "\"" : "");
    if (p->parts)
        print_parts(p, in, prediction, measured_us);
    buffer_puts(p->out, json ? "}" : "\n");
    p->rows++;
}

void rows_print_end(const struct rows_printer *p)
{
    if (p->format == FORMAT_JSON)
        buffer_puts(p->out, "\n]\n");
}
