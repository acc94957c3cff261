// SPDX-License-Identifier: Apache-2.0
//
// Finds the one column of numbers in a CSV file from anywhere and reads it. Model rows, which have
// many columns, are read by ci/settings/rows.c.
#include "ci/history/series_csv.h"

#include "model/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum cell { CELL_NUMBER, CELL_MISSING, CELL_TEXT };

// Without the blanks around it.
static const char *trim(size_t *length, const char *text)
{
    size_t first = strspn(text, " \t"), end = strlen(text);
    while (end > first && strchr(" \t", text[end - 1]))
        end--;
    *length = end - first;
    return text + first;
}

static bool is_named(const char *name, const char *column)
{
    size_t length;
    const char *trimmed = trim(&length, name);
    return strcmp(name, column) == 0 ||
           (strlen(column) == length && memcmp(trimmed, column, length) == 0);
}

static enum cell read_cell(double *out, const char *text)
{
    static const char *const missing[] = {"",    "na",   "n/a",  "#n/a", "<na>",
                                          "nan", "-nan", "null", "none", "-"};
    char trimmed[64];
    size_t length;
    const char *first = trim(&length, text);
    *out = NAN;
    if (length >= sizeof(trimmed))
        return CELL_TEXT;
    memcpy(trimmed, first, length);
    trimmed[length] = '\0';
    for (size_t i = 0; i < ARRAY_COUNT(missing); i++) {
        if (strcasecmp(trimmed, missing[i]) == 0)
            return CELL_MISSING;
    }
    return parse_double(out, trimmed) ? CELL_TEXT : CELL_NUMBER;
}

// Rows from `first` on all hold numbers or nothing in this column, and at least one a number.
static bool is_numeric(const struct csv *csv, size_t column, size_t first)
{
    bool number = false;
    for (size_t i = first; i < csv->count; i++) {
        double unused;
        enum cell cell = read_cell(&unused, csv->rows[i].fields[column]);
        if (cell == CELL_TEXT)
            return false;
        number = number || cell == CELL_NUMBER;
    }
    return number;
}

static bool has_number(const struct csv *csv, size_t column, size_t first)
{
    bool number = false;
    double unused;
    for (size_t i = first; i < csv->count && column > 0; i++)
        number |= read_cell(&unused, csv->rows[i].fields[column]) == CELL_NUMBER;
    return number;
}

// 0, 1, 2, ... or years or time stamps: strictly increasing from row to row.
static bool is_axis(const struct csv *csv, size_t column, size_t first)
{
    double before = -INFINITY, now;
    for (size_t i = first; i < csv->count; i++) {
        if (read_cell(&now, csv->rows[i].fields[column]) != CELL_NUMBER || now <= before)
            return false;
        before = now;
    }
    return true;
}

// The first row names the columns if it has text where the rows below have numbers, or if no column
// has numbers at all (then the error is about a value, not about the name).
static bool has_header(const struct csv *csv, const char *column)
{
    double unused;
    bool numbers = false;
    for (size_t j = 0; j < csv->columns; j++) {
        const char *name = csv->rows[0].fields[j];
        if (column && is_named(name, column) && csv->count > 1)
            return true;
        if (!is_numeric(csv, j, 1))
            continue;
        numbers = true;
        if (read_cell(&unused, name) == CELL_TEXT)
            return true;
    }
    return !numbers && read_cell(&unused, csv->rows[0].fields[0]) == CELL_TEXT;
}

static int find_named(size_t *out, const struct csv *csv, const char *const *names,
                      const char *column, const char *file, struct error *err)
{
    int64_t number;
    for (size_t j = 0; j < csv->columns; j++) {
        if (is_named(names[j], column)) {
            *out = j;
            return 0;
        }
    }
    if (parse_int64(&number, column) == 0 && number >= 1 && (size_t)number <= csv->columns) {
        *out = (size_t)number - 1;
        return 0;
    }
    return error_set(err, "%s:%zu: no column '%.60s'; the first is '%.60s' and there are %zu", file,
                     csv->rows[0].line, column, names[0], csv->columns);
}

static int find_only(size_t *out, const struct csv *csv, const char *const *names, size_t first,
                     const char *file, struct error *err)
{
    size_t found = 0, at[2] = {0, 0};
    for (size_t j = 0; j < csv->columns; j++) {
        bool axis = j == 0 && csv->columns > 1 && is_axis(csv, 0, first);
        if (!axis && is_numeric(csv, j, first) && found++ < 2)
            at[found - 1] = j;
    }
    if (found > 1)
        return error_set(err,
                         "%s: %zu columns of numbers ('%.60s', '%.60s', ...); --column says which",
                         file, found, names[at[0]], names[at[1]]);
    // None: the last column shows which cell is at fault, if it has numbers at all; else an axis
    // alone is the values after all.
    if (found == 0 && csv->columns > 2)
        return error_set(err, "%s: no column of numbers; --column names one to read", file);
    const size_t last = csv->columns - 1;
    *out = found == 1                                                   ? at[0]
           : is_numeric(csv, 0, first) && !has_number(csv, last, first) ? 0
                                                                        : last;
    return 0;
}

// A date as ISO 8601 has it ("2026-11-22", with or without a time) or a number.
static bool is_when(const char *text)
{
    double unused;
    size_t digits = strspn(text, "0123456789");
    return (digits == 4 && text[4] == '-' && strspn(text + 5, "0123456789") == 2) ||
           read_cell(&unused, text) == CELL_NUMBER;
}

// Whether `now` comes before `before`; what is neither has no order.
static bool is_older(const char *now, const char *before)
{
    double a, b;
    if (!is_when(now) || !is_when(before))
        return false;
    if (read_cell(&a, now) == CELL_NUMBER && read_cell(&b, before) == CELL_NUMBER)
        return a < b;
    return strcmp(now, before) < 0;
}

static int fill(struct series_csv *out, const struct csv *csv, size_t column, size_t first,
                const char *file, struct error *err)
{
    bool bare = csv->columns == 1;
    size_t lines = csv->count > first ? csv->rows[csv->count - 1].line - csv->rows[first].line : 0;
    size_t room = bare ? lines + csv->count : csv->count;
    out->values = arena_alloc(&out->arena, room * sizeof(*out->values));
    out->labels = column > 0 ? arena_alloc(&out->arena, room * sizeof(*out->labels)) : NULL;
    for (size_t i = first; i < csv->count; i++) {
        const struct csv_row *row = &csv->rows[i];
        // In a file of one column an empty line is an empty cell.
        size_t skipped = bare && i > first ? row->line - csv->rows[i - 1].line - 1 : 0;
        for (; skipped > 0; skipped--, out->missing++)
            out->values[out->count++] = NAN;
        double value;
        enum cell cell = read_cell(&value, row->fields[column]);
        if (cell == CELL_TEXT)
            return error_set(err,
                             "%s:%zu: '%.60s' is not a finite number; a missing one is an empty "
                             "cell, NA, NaN or -",
                             file, row->line, row->fields[column]);
        size_t length;
        const char *label = trim(&length, row->fields[0]);
        if (out->labels)
            out->labels[out->count] = arena_strndup(&out->arena, label, length);
        if (out->labels && out->unsorted == 0 && i > first &&
            is_older(row->fields[0], csv->rows[i - 1].fields[0]))
            out->unsorted = row->line;
        out->missing += cell == CELL_MISSING;
        out->values[out->count++] = value;
    }
    return 0;
}

static int choose(struct series_csv *out, const struct csv *csv, const char *file,
                  const char *column, struct error *err)
{
    if (csv->count == 0)
        return error_set(err, "%s: empty; a column of numbers is needed", file);
    bool header = has_header(csv, column);
    const char *const *names = header ? csv->rows[0].fields : csv->header;
    size_t index = 0;
    if (column ? find_named(&index, csv, names, column, file, err)
               : find_only(&index, csv, names, header, file, err))
        return -1;
    size_t length;
    const char *name = trim(&length, names[index]);
    out->column = arena_strndup(&out->arena, name, length);
    return fill(out, csv, index, header, file, err);
}

int series_csv_parse(struct series_csv *out, const char *text, size_t length, const char *name,
                     const char *column, struct error *err)
{
    struct csv csv;
    if (csv_parse_bare(&csv, text, length, name, err))
        return -1;
    struct series_csv series = {0};
    int failed = choose(&series, &csv, name, column, err);
    csv_free(&csv);
    if (failed)
        arena_free(&series.arena);
    else
        *out = series;
    return failed;
}

void series_csv_free(struct series_csv *series)
{
    arena_free(&series->arena);
    memset(series, 0, sizeof(*series));
}
