// SPDX-License-Identifier: Apache-2.0
//
// CSV (RFC 4180), written and read.
//
// It is read from memory: a header line, then rows of as many fields as it has.
// Lines before the header that begin with '#' are comments; empty lines are skipped; a line ends
// with LF, CRLF or CR; quoted fields may hold commas, line ends and doubled quotes. Anything else
// (a NUL byte, text after a closing quote, an unclosed quote, a row of another length, a header
// name that is empty or repeated) is an error that names the line.
#ifndef PLUMB_CSV_H
#define PLUMB_CSV_H

#include "model/base.h"
#include "model/buffer.h"

// ---- written ----

// Writes cells one after the other into a buffer, with a comma between two. A text is quoted where
// it must be, and guarded where a spreadsheet would take it for a formula (buffer_csv()). NULL is
// an empty cell, and so is a number that is not finite.
struct csv_line {
    struct buffer *out;
    bool comma; // the next cell needs one before it
};

// Writes a text as it stands: the heads of several columns, or one without quotes and guard.
void csv_raw(struct csv_line *line, const char *text);
void csv_text(struct csv_line *line, const char *text);
void csv_real(struct csv_line *line, double value);    // the fewest digits that read back the same
void csv_rounded(struct csv_line *line, double value); // to 1 ppm, far below any noise
void csv_int(struct csv_line *line, int64_t value);
void csv_empty(struct csv_line *line, size_t cells);
void csv_end(struct csv_line *line, const char *end); // "\n" or "\r\n"

// ---- read ----

enum { CSV_COLUMNS = 1024 }; // more are refused

struct csv_row {
    const char **fields; // `columns` of them
    size_t line;         // where the row begins, 1-based
};

struct csv {
    const char **header;
    size_t columns;
    uint64_t initials; // bit c % 64: a column's name begins with c
    struct csv_row *rows;
    size_t count;
    char separator;
    struct arena arena; // owns all of it
};

// `name` stands in errors for the file. csv_free() accepts a zeroed struct.
int csv_parse(struct csv *out, const char *text, size_t length, const char *name,
              struct error *err);
// csv_parse() that asks about an unreadable row: `leave` gets the reason, and 0 leaves the row's
// first line out and goes on behind it. A row may end behind the column `enough`: its missing
// fields are empty. Fields may be separated by tabs or semicolons, where the header has no comma.
struct csv_lenience {
    int (*leave)(void *context, struct error *err);
    void *context;
    const char *enough; // NULL, or no column of that name: each row has all fields
};
int csv_parse_leaving(struct csv *out, const char *text, size_t length, const char *name,
                      const struct csv_lenience *lenience, struct error *err);
// csv_parse() without a header line (or with one that is just the first row): every line is a row,
// and the columns are named "1", "2", ... An empty text has no rows and no columns. Fields may be
// separated by tabs or by semicolons.
int csv_parse_bare(struct csv *out, const char *text, size_t length, const char *name,
                   struct error *err);
void csv_free(struct csv *csv);
int csv_column(const struct csv *csv, const char *name); // index, -1 if there is no such column
// A field of our own tables without the apostrophe that buffer_csv() puts in front of a formula.
const char *csv_plain(const char *field);

// Numbers as the language of a machine has them, with a point or a comma.
//
// "1,234.5", or "1.234,5" where the mark is a comma; marks of thousands may also be blanks of any
// width and apostrophes. NaN: it is no such number.
double csv_number(const char *text, char mark);

// Columns of a table whose decimal mark nothing decides: the first such column, from 1; 0: there is
// none.
struct csv_doubt {
    size_t unsaid; // its commas may be thousands or decimals
    size_t odd;    // some of its numbers have a decimal point, others a decimal comma
    size_t row;    // one that shows the latter
    bool points;   // some points may be thousands (1.201), and were taken for decimal ones
};
// Writes numbers anew with a decimal point, in each column whose mark its own cells or the other
// columns decide. Columns in doubt stay as they are.
void csv_write_plainly(struct csv_doubt *doubt, struct csv *csv);

#endif
