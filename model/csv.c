// SPDX-License-Identifier: Apache-2.0
//
// Writes CSV (RFC 4180) into a buffer, and reads it from text in memory, whatever the columns mean.
#include "model/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- writing ----

static void next_cell(struct csv_line *line)
{
    if (line->comma)
        buffer_puts(line->out, ",");
    line->comma = true;
}

void csv_raw(struct csv_line *line, const char *text)
{
    next_cell(line);
    buffer_puts(line->out, text);
}

void csv_text(struct csv_line *line, const char *text)
{
    next_cell(line);
    buffer_csv(line->out, text ? text : "");
}

void csv_real(struct csv_line *line, double value)
{
    next_cell(line);
    if (isfinite(value))
        buffer_number(line->out, value);
}

void csv_rounded(struct csv_line *line, double value)
{
    next_cell(line);
    if (isfinite(value))
        buffer_printf(line->out, "%.6g", value);
}

void csv_int(struct csv_line *line, int64_t value)
{
    next_cell(line);
    buffer_printf(line->out, "%" PRId64, value);
}

void csv_empty(struct csv_line *line, size_t cells)
{
    for (size_t i = 0; i < cells; i++)
        next_cell(line);
}

void csv_end(struct csv_line *line, const char *end)
{
    buffer_puts(line->out, end);
    line->comma = false;
}

// ---- reading ----

struct csv_reader {
    const char *at, *end;
    const char *name;
    size_t line;
    char separator;
    struct arena *arena;
    struct error *err;
    struct csv_lenience lenience; // leave NULL: no row is left out
};

// The fields of the row that is being read, one after the other in one text. It grows in place and
// is reused for the next row.
struct fields {
    const char **items; // point into the text, once the row is complete
    size_t *begins;
    size_t count, room, begins_room;
    char *text;
    size_t length, text_room;
};

static void put_text(struct fields *f, const char *text, size_t length)
{
    while (f->length + length > f->text_room)
        f->text = xgrow(f->text, f->text_room, &f->text_room, 1);
    if (length)
        memcpy(f->text + f->length, text, length);
    f->length += length;
}

static bool at_line_end(const struct csv_reader *r)
{
    return r->at == r->end || *r->at == '\n' || *r->at == '\r';
}

static void skip_line_end(struct csv_reader *r)
{
    if (r->at == r->end)
        return;
    r->at += *r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n' ? 2 : 1;
    r->line++;
}

static int read_quoted(struct csv_reader *r, struct fields *f)
{
    size_t opened = r->line;
    const char *begin = ++r->at;
    for (;; r->at++) {
        if (r->at == r->end)
            return error_set(r->err, "%s:%zu: a quoted field is never closed", r->name, opened);
        if (*r->at == '\n')
            r->line++;
        if (*r->at != '"')
            continue;
        if (r->at + 1 == r->end || r->at[1] != '"')
            break;
        // with the first quote of a pair, which stands for one quote
        put_text(f, begin, (size_t)(r->at + 1 - begin));
        r->at++;
        begin = r->at + 1;
    }
    put_text(f, begin, (size_t)(r->at - begin));
    r->at++;
    return 0;
}

static int read_field(struct csv_reader *r, struct fields *f)
{
    if (r->at < r->end && *r->at == '"') {
        if (read_quoted(r, f))
            return -1;
        if (!at_line_end(r) && *r->at != r->separator)
            return error_set(r->err, "%s:%zu: text after a closing quote", r->name, r->line);
        return 0;
    }
    const char *at = r->at, *const end = r->end, separator = r->separator;
    while (at < end && *at != separator && *at != '\n' && *at != '\r' && *at != '"')
        at++;
    if (at < end && *at == '"')
        return error_set(r->err, "%s:%zu: a quote inside an unquoted field", r->name, r->line);
    put_text(f, r->at, (size_t)(at - r->at));
    r->at = at;
    return 0;
}

static void begin_field(struct fields *f)
{
    f->begins = xgrow(f->begins, f->count, &f->begins_room, sizeof(*f->begins));
    f->begins[f->count++] = f->length;
}

static void end_row(struct fields *f)
{
    while (f->room < f->count)
        f->items = xgrow(f->items, f->room, &f->room, sizeof(*f->items));
    for (size_t i = 0; i < f->count; i++)
        f->items[i] = f->text + f->begins[i];
}

static int read_row(struct csv_reader *r, struct fields *f)
{
    f->count = f->length = 0;
    for (;;) {
        begin_field(f);
        if (read_field(r, f))
            return -1;
        put_text(f, "", 1);
        if (at_line_end(r)) {
            skip_line_end(r);
            break;
        }
        r->at++; // skips the comma
    }
    end_row(f);
    return 0;
}

// Stores a row: its pointers, followed by its text. A field that is equal to the one in the row
// before is shared, because most columns of a long table repeat. `before` has as many fields; NULL:
// there is none.
static const char **keep(struct arena *arena, const struct fields *f, const char *const *before)
{
    const size_t pointers = f->count * sizeof(const char *);
    size_t length = 0;
    for (size_t i = 0; i < f->count; i++)
        length += before && !strcmp(f->items[i], before[i]) ? 0 : strlen(f->items[i]) + 1;
    const char **items = arena_alloc(arena, pointers + length);
    char *text = (char *)items + pointers;
    for (size_t i = 0; i < f->count; i++) {
        const bool same = before && strcmp(f->items[i], before[i]) == 0;
        items[i] = same ? before[i] : text;
        if (!same)
            text = stpcpy(text, f->items[i]) + 1;
    }
    return items;
}

static void skip_comments(struct csv_reader *r)
{
    while (r->at < r->end && (*r->at == '#' || at_line_end(r))) {
        while (!at_line_end(r))
            r->at++;
        skip_line_end(r);
    }
}

// Counts how often each of two characters stands outside quotes in the line.
static const char *count_in_line(size_t counts[2], const char *at, const char *end,
                                 const char *characters)
{
    bool quoted = false;
    counts[0] = counts[1] = 0;
    for (; at < end && (quoted || (*at != '\n' && *at != '\r')); at++) {
        quoted ^= *at == '"';
        counts[0] += !quoted && *at == characters[0];
        counts[1] += !quoted && *at == characters[1];
    }
    while (at < end && (*at == '\n' || *at == '\r'))
        at++;
    return at;
}

// Finds a separator other than the comma: a tab or a semicolon, if the first two lines have equally
// many and the first line has no comma. Commas further on are then decimal marks.
static char separator_of(const struct csv_reader *r)
{
    static const char *const others[] = {",\t", ",;"};
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        size_t first[2], second[2];
        const char *next = count_in_line(first, r->at, r->end, others[i]);
        count_in_line(second, next, r->end, others[i]);
        if (first[0] == 0 && first[1] > 0 && (next == r->end || first[1] == second[1]))
            return others[i][1];
    }
    return ',';
}

// Finds the separator from the line with the columns' names alone.
static char header_separator(const struct csv_reader *r)
{
    static const char *const others[] = {",\t", ",;"};
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        size_t counts[2];
        count_in_line(counts, r->at, r->end, others[i]);
        if (counts[0] == 0 && counts[1] > 0)
            return others[i][1];
    }
    return ',';
}

// Notes initials, so that a name that no column has is rejected in one step.
static void note_initials(struct csv *csv)
{
    for (size_t i = 0; i < csv->columns; i++)
        csv->initials |= UINT64_C(1) << (csv->header[i][0] & 63);
}

static int read_header(struct csv *csv, struct csv_reader *r, struct fields *f)
{
    skip_comments(r);
    if (r->at == r->end)
        return error_set(r->err, "%s: no header line; the first line names the columns", r->name);
    if (r->lenience.leave)
        r->separator = header_separator(r);
    size_t line = r->line;
    if (read_row(r, f))
        return -1;
    if (f->count > CSV_COLUMNS)
        return error_set(r->err, "%s:%zu: %zu columns; at most %d are read", r->name, line,
                         f->count, CSV_COLUMNS);
    for (size_t i = 0; i < f->count; i++) {
        if (f->items[i][0] == '\0')
            return error_set(r->err, "%s:%zu: column %zu has no name", r->name, line, i + 1);
        for (size_t j = 0; j < i; j++) {
            if (strcmp(f->items[i], f->items[j]) == 0)
                return error_set(r->err, "%s:%zu: two columns are named %.60s", r->name, line,
                                 f->items[i]);
        }
    }
    csv->columns = f->count;
    csv->header = keep(r->arena, f, NULL);
    note_initials(csv);
    return 0;
}

// Names the columns by their numbers, as many as the first row has fields.
static int number_columns(struct csv *csv, struct csv_reader *r, struct fields *f)
{
    skip_comments(r);
    struct csv_reader first = *r;
    if (r->at < r->end && read_row(r, f))
        return -1;
    if (f->count > CSV_COLUMNS)
        return error_set(r->err, "%s:%zu: %zu columns; at most %d are read", r->name, first.line,
                         f->count, CSV_COLUMNS);
    csv->columns = f->count;
    csv->header = arena_alloc(r->arena, f->count * sizeof(*csv->header));
    for (size_t i = 0; i < f->count; i++)
        csv->header[i] = arena_printf(r->arena, "%zu", i + 1);
    note_initials(csv);
    *r = first;
    return 0;
}

// An upper bound of the number of rows left: lines that are not empty.
static size_t rows_left(const struct csv_reader *r)
{
    size_t count = 0;
    bool begins = true;
    for (const char *at = r->at; at < r->end; at++) {
        const bool ends = *at == '\n' || *at == '\r';
        count += begins && !ends;
        begins = ends;
    }
    return count;
}

// Completes a row that has all required fields with empty ones.
static int check_length(const struct csv *csv, struct csv_reader *r, struct fields *f, size_t line)
{
    const char *enough = r->lenience.enough;
    const int last = enough ? csv_column(csv, enough) : -1;
    while (last >= 0 && f->count > (size_t)last && f->count < csv->columns) {
        begin_field(f);
        put_text(f, "", 1);
    }
    end_row(f);
    return f->count == csv->columns
               ? 0
               : error_set(r->err, "%s:%zu: %zu fields, but the first line has %zu", r->name, line,
                           f->count, csv->columns);
}

// Reads `most` rows at most.
static int read_rows(struct csv *csv, struct csv_reader *r, struct fields *f, size_t most)
{
    struct csv_row *rows = arena_alloc(r->arena, most * sizeof(*rows));
    int failed = 0;
    while (r->at < r->end && csv->count < most) {
        if (at_line_end(r)) {
            skip_line_end(r);
            continue;
        }
        const struct csv_reader begin = *r;
        const size_t line = r->line;
        failed = read_row(r, f) || check_length(csv, r, f, line) ? -1 : 0;
        if (failed && r->lenience.leave && r->lenience.leave(r->lenience.context, r->err) == 0) {
            *r = begin;
            while (!at_line_end(r))
                r->at++;
            skip_line_end(r);
            failed = 0;
            continue;
        }
        if (failed)
            break;
        const char **before = csv->count ? rows[csv->count - 1].fields : NULL;
        rows[csv->count++] = (struct csv_row){keep(r->arena, f, before), line};
    }
    csv->rows = rows;
    return failed;
}

static int check_text(const char *text, size_t length, const char *name, struct error *err)
{
    if (length >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0))
        return error_set(err, "%s: it is UTF-16; save it as UTF-8", name);
    if (length && memchr(text, '\0', length))
        return error_set(err, "%s: holds a NUL byte, so it is not text", name);
    return 0;
}

// Puts the reader at the text's beginning, behind the byte order mark that Excel writes.
static int begin_text(struct csv_reader *r, const char *text, size_t length)
{
    if (check_text(text, length, r->name, r->err))
        return -1;
    const bool marked = length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0;
    r->at = text + (marked ? 3 : 0);
    r->end = text + length;
    r->line = 1;
    r->separator = ',';
    return 0;
}

static void free_fields(struct fields *f)
{
    free(f->items);
    free(f->begins);
    free(f->text);
}

static int parse(struct csv *out, const char *text, size_t length, bool header,
                 struct csv_reader reader)
{
    if (begin_text(&reader, text, length))
        return -1;
    struct csv csv = {0};
    struct fields fields = {0};
    reader.arena = &csv.arena;
    if (!header)
        reader.separator = separator_of(&reader);
    int failed =
        header ? read_header(&csv, &reader, &fields) : number_columns(&csv, &reader, &fields);
    failed = failed || read_rows(&csv, &reader, &fields, rows_left(&reader)) ? -1 : 0;
    csv.separator = reader.separator;
    free_fields(&fields);
    if (failed)
        arena_free(&csv.arena);
    else
        *out = csv;
    return failed;
}

int csv_parse(struct csv *out, const char *text, size_t length, const char *name, struct error *err)
{
    return parse(out, text, length, true, (struct csv_reader){.name = name, .err = err});
}

int csv_parse_leaving(struct csv *out, const char *text, size_t length, const char *name,
                      const struct csv_lenience *lenience, struct error *err)
{
    return parse(out, text, length, true,
                 (struct csv_reader){.name = name, .err = err, .lenience = *lenience});
}

int csv_parse_bare(struct csv *out, const char *text, size_t length, const char *name,
                   struct error *err)
{
    return parse(out, text, length, false, (struct csv_reader){.name = name, .err = err});
}

void csv_free(struct csv *csv)
{
    arena_free(&csv->arena);
    memset(csv, 0, sizeof(*csv));
}

int csv_pieces_open(struct csv_pieces *out, const char *text, size_t length, const char *name,
                    struct error *err)
{
    struct csv_reader reader = {.name = name, .err = err};
    struct csv_pieces pieces = {.name = name, .end = text + length};
    struct fields fields = {0};
    if (begin_text(&reader, text, length))
        return -1;
    reader.arena = &pieces.csv.arena;
    const int failed = read_header(&pieces.csv, &reader, &fields);
    free_fields(&fields);
    if (failed) {
        csv_free(&pieces.csv);
        return -1;
    }
    pieces.csv.separator = reader.separator;
    pieces.first = pieces.at = reader.at;
    pieces.first_line = pieces.line = reader.line;
    *out = pieces;
    return 0;
}

int csv_pieces_next(struct csv_pieces *pieces, size_t most, struct error *err)
{
    struct csv *csv = &pieces->csv;
    struct csv_reader reader = {.at = pieces->at,
                                .end = pieces->end,
                                .name = pieces->name,
                                .line = pieces->line,
                                .separator = csv->separator,
                                .arena = &pieces->arena,
                                .err = err};
    struct fields fields = {0};
    arena_free(&pieces->arena);
    csv->count = 0;
    const int failed = read_rows(csv, &reader, &fields, most);
    free_fields(&fields);
    pieces->at = reader.at;
    pieces->line = reader.line;
    return failed;
}

void csv_pieces_rewind(struct csv_pieces *pieces)
{
    pieces->at = pieces->first;
    pieces->line = pieces->first_line;
    pieces->csv.count = 0;
}

void csv_pieces_free(struct csv_pieces *pieces)
{
    arena_free(&pieces->arena);
    csv_free(&pieces->csv);
}

int csv_column(const struct csv *csv, const char *name)
{
    if (!(csv->initials >> (name[0] & 63) & 1))
        return -1;
    for (size_t i = 0; i < csv->columns; i++) {
        if (csv->header[i][0] == name[0] && strcmp(csv->header[i], name) == 0)
            return (int)i;
    }
    return -1;
}

const char *csv_plain(const char *field)
{
    return field[0] == '\'' && field[1] && strchr("=+-@'\t\r", field[1]) ? field + 1 : field;
}

// ---- numbers ----

enum { NUMBER_MOST = 64 };

// The length of a thousands separator that is neither point nor comma: a blank of any width, or an
// apostrophe. 0: there is none.
static size_t group_mark(const char *text)
{
    static const char *const marks[] = {
        " ", "'", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89", "\xe2\x80\x99", "\xe2\x80\x87"};
    for (size_t i = 0; i < ARRAY_COUNT(marks); i++) {
        if (strncmp(text, marks[i], strlen(marks[i])) == 0)
            return strlen(marks[i]);
    }
    return 0;
}

static bool are_three_digits(const char *text)
{
    return strspn(text, "0123456789") == 3;
}

// Copies digits, points and commas with sign and exponent, without blanks at the ends and without
// other thousands separators, which must stand before three digits each (*grouped: there were
// some). Returns where the exponent begins; 0: it is no number.
static size_t plain_digits(char out[NUMBER_MOST], bool *grouped, const char *text)
{
    size_t used = 0;
    *grouped = false;
    for (size_t gap; (gap = group_mark(text)) || *text == '\t';)
        text += gap ? gap : 1;
    for (; *text && used + 1 < NUMBER_MOST; text++) {
        const size_t gap =
            used && out[used - 1] >= '0' && out[used - 1] <= '9' ? group_mark(text) : 0;
        if (gap && are_three_digits(text + gap) && !memchr(out, '.', used) &&
            !memchr(out, ',', used)) {
            *grouped = true;
            text += gap - 1;
            continue;
        }
        if (!strchr("0123456789.,+-eE", *text))
            break;
        out[used++] = *text;
    }
    for (size_t gap; (gap = group_mark(text)) || *text == '\t';)
        text += gap ? gap : 1;
    out[used] = '\0';
    return *text ? 0 : strcspn(out, "eE");
}

// Whether the digits up to `end` are grouped: one to three, then three each.
static bool is_grouped(const char *text, const char *end, char mark)
{
    const char *first = memchr(text, mark, (size_t)(end - text));
    if (!first || first == text || first - text > 3 || text[0] == '0')
        return false;
    for (const char *at = first; at < end; at += 4) {
        if (end - at < 4 || memchr(at + 1, mark, 3) || *at != mark)
            return false;
    }
    return true;
}

// The decimal mark that a number shows: '.' or ','; '?': it has a point or a comma that may be
// either, as in 1,201; 0: it shows none, or is no number.
static char csv_mark(const char *cell)
{
    char digits[NUMBER_MOST], *text = digits;
    bool grouped;
    const size_t end = plain_digits(digits, &grouped, cell);
    const bool exponent = digits[end] != '\0';
    digits[end] = '\0';
    text += *text == '-' || *text == '+';
    const size_t length = strlen(text);
    const char *comma = strrchr(text, ','), *point = strrchr(text, '.');
    if (length == 0 || strspn(text, "0123456789.,") != length || (!comma && !point))
        return 0;
    if (comma && point) { // the last one is the decimal mark, after groups of three
        const char *last = comma > point ? comma : point;
        return memchr(last + 1, *last, length - (size_t)(last + 1 - text)) == NULL &&
                       is_grouped(text, last, *last == ',' ? '.' : ',') &&
                       strchr(text, *last) == last
                   ? *last
                   : 0;
    }
    const char mark = comma ? ',' : '.', *last = comma ? comma : point;
    if (strchr(text, mark) != last) // it separates thousands
        return !grouped && is_grouped(text, text + length, mark) ? (mark == ',' ? '.' : ',') : 0;
    return !grouped && !exponent && is_grouped(text, text + length, mark) ? '?' : mark;
}

double csv_number(const char *cell, char mark)
{
    char digits[NUMBER_MOST], plain[NUMBER_MOST];
    bool grouped;
    size_t used = 0;
    double value;
    if (plain_digits(digits, &grouped, cell) == 0)
        return NAN;
    for (const char *c = digits; *c; c++) {
        if (*c == mark)
            plain[used++] = '.';
        else if (*c != ',' && *c != '.')
            plain[used++] = *c;
    }
    plain[used] = '\0';
    return parse_double(&value, plain) ? NAN : value;
}

// ---- a table's numbers ----

// The decimal mark of a column, as csv_mark() gives it. ':' : its points may be either; '!': its
// cells disagree, as row *at shows.
static char column_mark(const struct csv *csv, size_t column, size_t *at)
{
    char mark = 0, doubt = 0;
    *at = 0;
    for (size_t i = 0; i < csv->count; i++) {
        const char *cell = csv->rows[i].fields[column], found = csv_mark(cell);
        if (found == '?') {
            doubt = doubt == ',' || strchr(cell, ',') ? ',' : '.';
        } else if (found && mark && found != mark) {
            *at = i;
            return '!';
        } else if (found) {
            mark = found;
        }
    }
    return mark ? mark : doubt == ',' ? '?' : doubt ? ':' : 0;
}

// The decimal mark on which all columns that show one agree; 0: there is none.
static char file_mark(const struct csv *csv)
{
    char mark = 0;
    for (size_t j = 0; j < csv->columns; j++) {
        size_t at;
        const char found = column_mark(csv, j, &at);
        if (found != '.' && found != ',')
            continue;
        if (mark && found != mark)
            return 0;
        mark = found;
    }
    return mark;
}

static void write_column(struct csv *csv, size_t column, char mark)
{
    for (size_t i = 0; i < csv->count; i++) {
        const char **field = &csv->rows[i].fields[column];
        char text[NUMBER_TEXT];
        double value;
        if (mark == '.' && parse_double(&value, *field) == 0)
            continue;
        value = csv_number(*field, mark);
        if (!isfinite(value))
            continue;
        number_text(text, value);
        *field = arena_strdup(&csv->arena, text);
    }
}

void csv_write_plainly(struct csv_doubt *doubt, struct csv *csv)
{
    const char file = file_mark(csv);
    *doubt = (struct csv_doubt){0};
    for (size_t j = 0; j < csv->columns; j++) {
        size_t at;
        const char found = column_mark(csv, j, &at);
        const char mark = found == '?' || found == ':' ? file : found;
        if (found == '?' && !file && !doubt->unsaid)
            doubt->unsaid = j + 1;
        if (found == '!' && !doubt->odd) {
            doubt->odd = j + 1;
            doubt->row = at;
        }
        // A point that may be either is a decimal point if nothing else is known.
        doubt->points |= found == ':' && !file;
        if (found != '!' && (found != '?' || file))
            write_column(csv, j, mark ? mark : '.');
    }
}
