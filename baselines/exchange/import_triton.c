// SPDX-License-Identifier: Apache-2.0
//
// Reads the CSV that triton.testing.perf_report writes (run(save_path=...)): a column for each
// argument that was swept (x_names), and one for each line of the chart.
//   kernel   the column's name without its unit, and the arguments that are no problem
//   problem  columns M, N and K (or one for all three); else --problem, and then the arguments go
//            into the kernel's name
//   time     a column with a unit: (ms), (us), (ns) or (s); or (TFLOPS), (TFLOP/s) or (GFLOPS) if
//            the problem is a GEMM, whose operations are counted. Triton before 3.2 writes no unit;
//            then --unit says it, or the column is left out
//   device   the file does not say it: --device
// Columns: triton-lang/triton, python/triton/testing.py, Mark._run().
#include "baselines/exchange/foreign.h"

#include <math.h>
#include <string.h>
#include <strings.h>

// The unit in the last and innermost brackets of a column's name: "ms" in "Triton (Time (ms))";
// NULL: there is none.
static const char *unit_of(size_t *name_length, const char *column, struct arena *arena)
{
    const size_t length = strlen(column);
    const char *outer = strchr(column, '('), *inner = strrchr(column, '(');
    if (!inner || length == 0 || column[length - 1] != ')')
        return NULL;
    *name_length = (size_t)(outer - column);
    return arena_strndup(arena, inner + 1, strcspn(inner + 1, ")"));
}

// The operations per nanosecond that one of a rate's unit stands for; 0: the unit is no rate.
static double rate_of(const char *unit)
{
    static const struct {
        const char *name;
        double per_ns;
    } rates[] = {{"TFLOPS", 1e3}, {"TFLOP/s", 1e3}, {"GFLOPS", 1}, {"GFLOP/s", 1}};
    for (size_t i = 0; i < ARRAY_COUNT(rates); i++) {
        if (strcasecmp(unit, rates[i].name) == 0)
            return rates[i].per_ns;
    }
    return 0;
}

static bool is_swept(const char *column)
{
    const size_t length = strlen(column);
    return length == 0 || column[length - 1] != ')' || !strchr(column, '(');
}

// Reads the arguments of a row: the columns before the first one with a unit. -1: a value is
// malformed.
static int read_arguments(struct foreign *f, const struct csv *csv, size_t row, size_t swept,
                          struct arena *arena)
{
    for (size_t i = 0; i < swept; i++) {
        const char *text = csv->rows[row].fields[i];
        double value;
        // pandas writes whole numbers of a column in the form 256.0.
        if (parse_double(&value, text) == 0 && value == floor(value) && fabs(value) < 1e15)
            text = arena_printf(arena, "%.0f", value);
        if (foreign_argument(f, csv->header[i], text))
            return -1;
    }
    return 0;
}

static int read_cell(struct import *in, const struct csv *csv, size_t row, size_t column,
                     size_t swept, struct error *err)
{
    struct arena *arena = &in->run.arena;
    size_t length = strlen(csv->header[column]);
    const char *unit = unit_of(&length, csv->header[column], arena);
    const char *text = csv->rows[row].fields[column];
    struct foreign f = {.state = MEASURED_OK, .regime = "triton.testing"};
    double value, time_ns = NAN;
    f.name = csv->header[column];
    foreign_part(&f, NULL, arena_strndup(arena, csv->header[column], length));
    if (read_arguments(&f, csv, row, swept, arena))
        return foreign_leave(in, &f, 1, "M, N, K or a type that is none", err);
    unit = unit ? unit : in->source->unit;
    if (!unit)
        return foreign_leave(in, &f, 1,
                             "its column does not say its unit, as in 'Triton (ms)': say it with "
                             "--unit",
                             err);
    if (parse_double(&value, text) || !(value > 0))
        return foreign_leave(in, &f, 1, "a value that is not above 0", err);
    const struct problem *p = &f.problem;
    if (foreign_unit_ns(unit) > 0)
        time_ns = value * foreign_unit_ns(unit);
    else if (rate_of(unit) > 0 && p->m && p->n && p->k)
        time_ns = 2.0 * (double)p->m * (double)p->n * (double)p->k / (value * rate_of(unit));
    else
        return foreign_leave(in, &f, 1, "its unit is no time, and no rate of a GEMM", err);
    return foreign_add(in, &f, &time_ns, 1, err);
}

static bool is_unit(const char *column, struct arena *arena)
{
    size_t length;
    const char *unit = unit_of(&length, column, arena);
    return unit &&
           (foreign_unit_ns(unit) > 0 || rate_of(unit) > 0 || strcasecmp(unit, "GB/s") == 0);
}

enum { HEADER_MOST = 1 << 20 }; // in bytes; a hostile file may consist of one line

// Accepts a table whose columns are arguments, then lines of the chart, which have units, and
// perhaps their difference.
static bool is_triton(const struct import_file *file)
{
    struct csv csv = {0};
    struct error ignored;
    size_t length, at = 0, lines = 0;
    const char *header = import_header(&length, file);
    if (!header || length > HEADER_MOST || csv_parse_bare(&csv, header, length, "", &ignored))
        return false;
    const char *const *names = csv.rows[0].fields;
    while (at < csv.columns && is_swept(names[at]))
        at++;
    for (; at > 0 && at < csv.columns && is_unit(names[at], &csv.arena); at++)
        lines++;
    const bool last = at + 1 == csv.columns && strcmp(names[at], "Diff") == 0;
    const bool is = lines > 0 && (at == csv.columns || last);
    csv_free(&csv);
    return is;
}

static int import_triton(struct import *in, const struct import_file *file, struct error *err)
{
    struct csv csv = {0};
    size_t swept = 0;
    if (import_table(&csv, in, file->text, file->length, err))
        return -1;
    int status = import_numbers(in, &csv, err);
    if (status == 0)
        status = foreign_begin(in, "triton", NULL, file, err);
    if (status == 0)
        foreign_device(in, "cuda", "triton", "unknown");
    while (status == 0 && swept < csv.columns && is_swept(csv.header[swept]))
        swept++;
    // If no column has a unit, the first one is the swept argument, and so are further axes.
    if (swept == csv.columns) {
        for (swept = csv.columns > 0; swept < csv.columns && foreign_is_axis(csv.header[swept]);)
            swept++;
    }
    for (size_t row = 0; row < csv.count; row++) {
        in->line = csv.rows[row].line;
        for (size_t column = swept; status == 0 && column < csv.columns; column++)
            status = read_cell(in, &csv, row, column, swept, err);
    }
    if (status == 0)
        status = foreign_end(in, err);
    csv_free(&csv);
    return status;
}

const struct importer importer_triton = {"triton", is_triton, import_triton, NULL};
