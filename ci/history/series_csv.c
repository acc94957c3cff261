// SPDX-License-Identifier: Apache-2.0
//
// Finds and reads the one column of numbers in a CSV file of any origin. ci/settings/rows.c reads
// model rows, which have many columns.
#include "ci/history/series_csv.h"

#include "model/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum cell_kind { CELL_NUMBER, CELL_MISSING, CELL_TEXT };

// The text without blanks at its ends.
static const char *trim(size_t *length, const char *text)
{
    size_t first = strspn(text, " \t"), end = strlen(text);
    while (end > first && strchr(" \t", text[end - 1]))
        end--;
    *length = end - first;
    return text + first;
}

// Whether a name is the column's. A unit in brackets after the name may be left out: "latency (us)"
// is latency.
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

static enum cell_kind read_cell(double *out, const char *text)
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

// Whether all rows from `first` on have a number or nothing in this column, and at least one has a
// number.
static bool is_numeric(const struct csv *csv, size_t column, size_t first)
{
    bool number = false;
    for (size_t i = first; i < csv->count; i++) {
        double unused;
        enum cell_kind cell = read_cell(&unused, csv->rows[i].fields[column]);
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

// Whether a column strictly increases from row to row, such as 0, 1, 2, ..., years or time stamps.
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

// Whether the first row has the columns' names: it has text where the rows below have numbers, or
// no column has numbers at all (then an error is about a value and not about the name).
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

// Whether a name is that of an axis or an order, and not of a measurement.
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

// Whether a column is an axis and no measurement: it only counts up, and it is the first one or has
// an axis' name.
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
    // There is none. The last column shows which cell is at fault, if it has numbers at all;
    // otherwise an axis alone must have the values.
    if (found == 0 && csv->columns > 2)
        return error_set(err, "%s: no column of numbers; --column names one to read", file);
    // The only column of numbers counts up, so it is an index and no measurement.
    const size_t last = csv->columns - 1;
    const bool counter = is_numeric(csv, 0, first) && !has_number(csv, last, first);
    if (found == 0 && aside && counter)
        return error_set(err,
                         "%s: '%.60s' counts up, and '%.60s' has no numbers; --column names one to "
                         "read",
                         file, names[0], names[last]);
    if (found == 0)
        *why = "no other has numbers";
    *out = found == 1 ? at[0] : counter ? 0 : last;
    return 0;
}

// ---- dates ----

// The order of a date such as "2026-11-22", "22.11.2026", "11/22/2026", or "22/11/2026" if days
// come first, with or without a time. The result is in seconds, of which only the order matters;
// NaN: it is no date.
static double date_key(const char *text, bool day_first)
{
    int a, b, c, used = 0, hours = 0, minutes = 0;
    double seconds = 0;
    char mark[2];
    text += strspn(text, " \t");
    if (sscanf(text, "%4d%1[-./]%2d%*1[-./]%4d%n", &a, mark, &b, &c, &used) != 4 || used < 8)
        return NAN;
    const bool year_first = a > 999, days = mark[0] == '.' || day_first;
    const int year = year_first ? a : c, month = year_first || days ? b : a;
    const int day = year_first ? c : days ? a : b;
    if (year < 1900 || month < 1 || month > 12 || day < 1 || day > 31)
        return NAN;
    const char *time = text + used;
    if (*time && !strchr("T _", *time))
        return NAN;
    if (*time)
        sscanf(time + 1, "%2d:%2d:%lf", &hours, &minutes, &seconds);
    return ((year * 12.0 + month) * 31 + day) * 86400 + hours * 3600.0 + minutes * 60.0 + seconds;
}

// Whether the first column has a date whose first number cannot be a month.
static bool has_day_first(const struct csv *csv, size_t first)
{
    for (size_t i = first; i < csv->count; i++) {
        const char *text = csv->rows[i].fields[0];
        if (isnan(date_key(text, false)) && !isnan(date_key(text, true)))
            return true;
    }
    return false;
}

static bool is_when(const char *text)
{
    double unused;
    return !isnan(date_key(text, false)) || !isnan(date_key(text, true)) ||
           read_cell(&unused, text) == CELL_NUMBER;
}

// Whether `now` comes before `before`; a text that is neither a date nor a number has no order.
static bool is_older(const char *now, const char *before, bool day_first)
{
    double a = date_key(now, day_first), b = date_key(before, day_first);
    if (isnan(a) || isnan(b)) {
        if (read_cell(&a, now) != CELL_NUMBER || read_cell(&b, before) != CELL_NUMBER)
            return false;
    }
    return a < b;
}

static int fill(struct series_csv *out, const struct csv *csv, size_t column, size_t first,
                const char *file, struct error *err)
{
    bool bare = csv->columns == 1;
    const bool day_first = has_day_first(csv, first);
    size_t lines = csv->count > first ? csv->rows[csv->count - 1].line - csv->rows[first].line : 0;
    size_t room = bare ? lines + csv->count : csv->count;
    out->values = arena_alloc(&out->arena, room * sizeof(*out->values));
    out->labels = column > 0 ? arena_alloc(&out->arena, room * sizeof(*out->labels)) : NULL;
    for (size_t i = first; i < csv->count; i++) {
        const struct csv_row *row = &csv->rows[i];
        // In a file with one column an empty line is an empty cell.
        size_t skipped = bare && i > first ? row->line - csv->rows[i - 1].line - 1 : 0;
        for (; skipped > 0; skipped--, out->missing++)
            out->values[out->count++] = NAN;
        double value;
        enum cell_kind cell = read_cell(&value, row->fields[column]);
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
            is_older(row->fields[0], csv->rows[i - 1].fields[0], day_first))
            out->unsorted = row->line;
        out->missing += cell == CELL_MISSING;
        out->values[out->count++] = value;
    }
    return 0;
}

// ---- files whose rows belong to several things ----

// The units that a column's cells may have. Different rows of one column may have different units
// of time.
static const struct {
    const char *name;
    double ns; // 0: it is no unit of time
} units[] = {{"ns", 1},     {"us", 1e3},   {"\xc2\xb5s", 1e3}, {"\xce\xbcs", 1e3}, {"ms", 1e6},
             {"s", 1e9},    {"sec", 1e9},  {"seconds", 1e9},   {"min", 60e9},      {"nsec", 1},
             {"usec", 1e3}, {"msec", 1e6}, {"%", 0},           {"bytes", 0},       {"B", 0},
             {"KB", 0},     {"MB", 0},     {"GB", 0},          {"KiB", 0},         {"MiB", 0},
             {"GiB", 0},    {"GB/s", 0},   {"Hz", 0},          {"MHz", 0},         {"GHz", 0},
             {"W", 0},      {"GFLOPS", 0}, {"TFLOPS", 0},      {"GFLOP/s", 0},     {"TFLOP/s", 0},
             {"cycles", 0}};

// The index of a unit, with or without brackets; -1: the text is none.
static int find_unit(const char *text)
{
    size_t length;
    const char *trimmed = trim(&length, text);
    const bool brackets =
        length > 2 && strchr("([", trimmed[0]) && strchr(")]", trimmed[length - 1]);
    for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
        if (strlen(units[i].name) == length - 2 * brackets &&
            strncasecmp(trimmed + brackets, units[i].name, length - 2 * brackets) == 0)
            return (int)i;
    }
    return -1;
}

static bool is_unit(const char *text)
{
    return find_unit(text) >= 0;
}

// Finds where the unit begins after the last digit of a cell such as "1,201.5 us"; NULL: the cell
// has another form.
static const char *unit_in(int *unit, const char *cell)
{
    const char *end = cell + strlen(cell);
    while (end > cell && !(end[-1] >= '0' && end[-1] <= '9'))
        end--;
    *unit = end > cell ? find_unit(end) : -1;
    return *unit >= 0 && strchr("0123456789+-.", cell[strspn(cell, " \t")]) ? end : NULL;
}

// Whether the cells of a column have units, either the same one or all of time; returns the first
// one.
static bool find_units(int *first_unit, const struct csv *csv, size_t column)
{
    bool any = false;
    double unused;
    for (size_t i = 1; i < csv->count; i++) {
        const char *cell = csv->rows[i].fields[column];
        int unit;
        if (read_cell(&unused, cell) == CELL_MISSING)
            continue;
        if (!unit_in(&unit, cell))
            return false;
        *first_unit = any ? *first_unit : unit;
        if (unit != *first_unit && !(units[unit].ns > 0 && units[*first_unit].ns > 0))
            return false;
        any = true;
    }
    return any;
}

// Removes the units from the cells of a column; for times, row_ns gets each row's unit in
// nanoseconds.
static void take_units(double *row_ns, struct csv *csv, size_t column)
{
    for (size_t i = 0; i < csv->count; i++) {
        const char **cell = &csv->rows[i].fields[column];
        int unit;
        const char *end = unit_in(&unit, *cell);
        row_ns[i] = end ? units[unit].ns : 0;
        if (end)
            *cell = arena_strndup(&csv->arena, *cell, (size_t)(end - *cell));
    }
}

// Converts a column's times to the unit of its first row, after the numbers have been normalised.
static void convert(struct csv *csv, size_t column, const double *row_ns, double first_ns)
{
    for (size_t i = 0; i < csv->count && first_ns > 0; i++) {
        double value;
        if (row_ns[i] > 0 && row_ns[i] != first_ns &&
            read_cell(&value, csv->rows[i].fields[column]) == CELL_NUMBER)
            csv->rows[i].fields[column] =
                arena_printf(&csv->arena, "%.17g", value * row_ns[i] / first_ns);
    }
}

// Normalises numbers of any notation and unit. `unit_names` gets the units by column.
static void write_plainly(struct csv_doubt *doubt, const char **unit_names, struct csv *csv)
{
    double **row_ns = arena_alloc(&csv->arena, csv->columns * sizeof(*row_ns));
    double *first_ns = arena_alloc(&csv->arena, csv->columns * sizeof(*first_ns));
    for (size_t j = 0; j < csv->columns; j++) {
        int unit = 0;
        row_ns[j] = NULL;
        unit_names[j] = NULL;
        if (!find_units(&unit, csv, j))
            continue;
        first_ns[j] = units[unit].ns;
        unit_names[j] = units[unit].name;
        row_ns[j] = arena_alloc(&csv->arena, csv->count * sizeof(*row_ns[j]));
        take_units(row_ns[j], csv, j);
    }
    csv_write_plainly(doubt, csv);
    for (size_t j = 0; j < csv->columns; j++) {
        if (row_ns[j])
            convert(csv, j, row_ns[j], first_ns[j]);
    }
}

// Whether a row has units below the names, in columns that hold numbers from there on.
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

// Keeps the rows whose named columns have the given texts: "gpu=H100,kernel=gemm".
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

// Counts the words of a column of words that recur, up to three. Such a column says what rows
// belong to.
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

// Describes the first such column; NULL: as far as the file tells, all rows belong to one thing.
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
    const char **unit_names = arena_alloc(&csv->arena, csv->columns * sizeof(*unit_names));
    write_plainly(&doubt, unit_names, csv);
    const size_t doubtful = doubt.unsaid;
    const bool unit_row = has_units(csv), header = unit_row || has_header(csv, column);
    const char *const *names = header ? csv->rows[0].fields : csv->header;
    const size_t first = (size_t)header + unit_row;
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
    const char *unit = unit_row ? csv->rows[1].fields[index] : unit_names[index];
    if (unit && unit[0])
        out->column = arena_printf(&out->arena, "%s (%s)", out->column, unit);
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
