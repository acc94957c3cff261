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

// A unit in brackets behind a name may be left out: "latency (us)" is latency.
static bool is_named(const char *name, const char *column)
{
    size_t length, wanted = strlen(column);
    const char *trimmed = trim(&length, name);
    if (strcmp(name, column) == 0 || (wanted == length && memcmp(trimmed, column, length) == 0))
        return true;
    if (wanted >= length || memcmp(trimmed, column, wanted) != 0 ||
        !strchr(")]", trimmed[length - 1]))
        return false;
    const size_t blanks = strspn(trimmed + wanted, " \t");
    return strchr("([", trimmed[wanted + blanks]) != NULL;
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

// Names of what rows are in the order of, and what is not measured.
static bool names_axis(const char *name)
{
    static const char *const axes[] = {"date",     "day",  "time",  "timestamp", "build",
                                       "commit",   "run",  "index", "id",        "epoch",
                                       "revision", "step", "#"};
    for (size_t i = 0; i < ARRAY_COUNT(axes); i++) {
        size_t length;
        const char *trimmed = trim(&length, name);
        if (strlen(axes[i]) == length && strncasecmp(trimmed, axes[i], length) == 0)
            return true;
    }
    return false;
}

// The first column that only counts up, and any that does and is called so.
static bool is_aside(const struct csv *csv, const char *const *names, size_t column, size_t first)
{
    return csv->columns > 1 && (column == 0 || names_axis(names[column])) &&
           is_axis(csv, column, first);
}

static int find_only(size_t *out, const char **why, const struct csv *csv, const char *const *names,
                     size_t first, const char *file, struct error *err)
{
    size_t found = 0, aside = 0, at[2] = {0, 0};
    for (size_t j = 0; j < csv->columns; j++) {
        const bool axis = is_aside(csv, names, j, first);
        aside += axis;
        if (!axis && is_numeric(csv, j, first) && found++ < 2)
            at[found - 1] = j;
    }
    *why = aside ? "the only one of numbers that does not count up" : "the only one of numbers";
    if (found > 1)
        return error_set(err,
                         "%s: %zu columns of numbers ('%.60s', '%.60s', ...); --column says which",
                         file, found, names[at[0]], names[at[1]]);
    // None: the last column shows which cell is at fault, if it has numbers at all; else an axis
    // alone is the values after all.
    if (found == 0 && csv->columns > 2)
        return error_set(err, "%s: no column of numbers; --column names one to read", file);
    const size_t last = csv->columns - 1;
    if (found == 0)
        *why = "no other has numbers";
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

// ---- rows of several things in one file ----

static bool is_unit(const char *text)
{
    static const char *const units[] = {"ns", "us",  "ms",  "s",   "sec",    "%",      "bytes",
                                        "KB", "MB",  "GB",  "KiB", "MiB",    "GiB",    "GB/s",
                                        "Hz", "MHz", "GHz", "W",   "GFLOPS", "TFLOPS", "cycles"};
    size_t length;
    const char *trimmed = trim(&length, text);
    const bool brackets =
        length > 2 && strchr("([", trimmed[0]) && strchr(")]", trimmed[length - 1]);
    for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
        if (strlen(units[i]) == length - 2 * brackets &&
            strncasecmp(trimmed + brackets, units[i], length - 2 * brackets) == 0)
            return true;
    }
    return false;
}

// A row that says units below the names, in columns that hold numbers from there on.
static bool has_units(const struct csv *csv)
{
    bool unit = false;
    double unused;
    for (size_t j = 0; j < csv->columns && csv->count > 2; j++) {
        if (!is_numeric(csv, j, 2))
            continue;
        const char *text = csv->rows[1].fields[j];
        if (read_cell(&unused, text) == CELL_TEXT && !is_unit(text))
            return false;
        if (read_cell(&unused, text) == CELL_NUMBER)
            return false;
        unit |= is_unit(text);
    }
    return unit;
}

// Keeps the rows in which the column of that name holds that text: "gpu=H100,kernel=gemm".
static int keep_rows(struct csv *csv, const char *where, size_t first, const char *file,
                     struct error *err)
{
    struct arena arena = {0};
    char *words = arena_strdup(&arena, where), *rest = words;
    int status = 0;
    for (char *word; status == 0 && (word = strsep(&rest, ","));) {
        char *equals = strchr(word, '=');
        size_t column, kept = first;
        if (!equals) {
            status = error_set(err, "--where: '%.60s' is no NAME=VALUE", word);
            break;
        }
        *equals = '\0';
        status = find_named(&column, csv, csv->rows[0].fields, word, file, err);
        for (size_t i = first; status == 0 && i < csv->count; i++) {
            if (is_named(csv->rows[i].fields[column], equals + 1))
                csv->rows[kept++] = csv->rows[i];
        }
        csv->count = status ? csv->count : kept;
        if (status == 0 && kept == first)
            status = error_set(err, "%s: no row has %.60s=%.60s", file, word, equals + 1);
    }
    arena_free(&arena);
    return status;
}

// A column of words, each of which comes again: what rows are of. Counts them up to three.
static size_t count_tags(const struct csv *csv, size_t column, size_t first, const char *tags[3])
{
    size_t count = 0;
    for (size_t i = first; i < csv->count; i++) {
        const char *text = csv->rows[i].fields[column];
        double unused;
        size_t k = 0;
        if (read_cell(&unused, text) != CELL_TEXT || is_when(text))
            return 0;
        while (k < count && strcmp(tags[k], text) != 0)
            k++;
        if (k == count && count < 3)
            tags[count++] = text;
        else if (k == count)
            return 3;
    }
    return 2 * count <= csv->count - first ? count : 0;
}

// Said of the first such column; NULL: all rows are of one thing, as far as the file says.
static const char *tell_tags(const struct csv *csv, const char *const *names, size_t column,
                             size_t first, struct arena *arena)
{
    for (size_t j = 0; j < csv->columns; j++) {
        const char *tags[3];
        const size_t count = j == column ? 0 : count_tags(csv, j, first, tags);
        if (count == 2)
            return arena_printf(arena,
                                "its rows are of %.40s '%.40s' and '%.40s', and taken as one "
                                "series; --where '%.40s=%.40s' takes those alone",
                                names[j], tags[0], tags[1], names[j], tags[0]);
    }
    return NULL;
}

static int refuse_doubt(const struct csv *csv, const char *const *names, size_t column,
                        const char *file, struct error *err)
{
    return error_set(err,
                     "%s:%zu: nothing in the file says whether the commas of '%.60s' are thousands "
                     "or decimals; write one number with both marks, or with another number of "
                     "digits",
                     file, csv->rows[0].line, names[column]);
}

static int choose(struct series_csv *out, struct csv *csv, const char *file, const char *column,
                  const char *where, struct error *err)
{
    struct csv_doubt doubt;
    size_t index = 0;
    if (csv->count == 0)
        return error_set(err, "%s: empty; a column of numbers is needed", file);
    csv_write_plainly(&doubt, csv);
    const size_t doubtful = doubt.unsaid;
    const bool units = has_units(csv), header = units || has_header(csv, column);
    const char *const *names = header ? csv->rows[0].fields : csv->header;
    const size_t first = (size_t)header + units;
    if (where && !header)
        return error_set(err, "%s: --where needs a line that names the columns", file);
    if (where && keep_rows(csv, where, first, file, err))
        return -1;
    out->why = "as --column says";
    if (!column && doubtful && (doubtful > 1 || csv->columns == 1))
        return refuse_doubt(csv, names, doubtful - 1, file, err);
    if (column ? find_named(&index, csv, names, column, file, err)
               : find_only(&index, &out->why, csv, names, first, file, err))
        return -1;
    if (doubtful && index == doubtful - 1)
        return refuse_doubt(csv, names, index, file, err);
    size_t length;
    const char *name = trim(&length, names[index]);
    out->column = arena_strndup(&out->arena, name, length);
    if (units && csv->rows[1].fields[index][0])
        out->column = arena_printf(&out->arena, "%s (%s)", out->column, csv->rows[1].fields[index]);
    out->tags = header ? tell_tags(csv, names, index, first, &out->arena) : NULL;
    return fill(out, csv, index, first, file, err);
}

int series_csv_parse(struct series_csv *out, const char *text, size_t length, const char *name,
                     const char *column, const char *where, struct error *err)
{
    struct csv csv;
    if (csv_parse_bare(&csv, text, length, name, err))
        return -1;
    struct series_csv series = {0};
    int failed = choose(&series, &csv, name, column, where, err);
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
