// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads CSV (RFC 4180).
//
// CSV is read from memory: a header line, then rows with as many fields as the header.
// Lines before the header that begin with '#' are comments. Empty lines are skipped. A line ends
// with LF, CRLF or CR. Quoted fields may hold commas, line ends and doubled quotes. Anything else
// (a NUL byte, text after a closing quote, an unclosed quote, a row of another length, a header
// name that is empty or repeated) is an error that names the line.
#ifndef PLUMB_CSV_H
#define PLUMB_CSV_H

#include "model/base.h"
#include "model/buffer.h"

// ---- writing ----

// Writes cells into a buffer, with a comma between them. A text is quoted if it must be, and
// guarded if a spreadsheet would take it for a formula (buffer_csv()). NULL becomes an empty cell,
// and so does a number that is not finite.
struct csv_line {
    struct buffer *out;
    bool comma; // a comma must come before the next cell
};

// Writes a text as it is, without quotes and guard: the heads of one or several columns.
void csv_raw(struct csv_line *line, const char *text);
void csv_text(struct csv_line *line, const char *text);
void csv_real(struct csv_line *line, double value);    // the fewest digits that read back the same
void csv_rounded(struct csv_line *line, double value); // to 1 ppm, far below any noise
void csv_int(struct csv_line *line, int64_t value);
void csv_empty(struct csv_line *line, size_t cells);
void csv_end(struct csv_line *line, const char *end); // "\n" or "\r\n"

// ---- reading ----

enum { CSV_COLUMNS = 1024 }; // a table with more columns is refused

struct csv_row {
    const char **fields; // `columns` of them
    size_t line;         // the line where the row begins, 1-based
};

struct csv {
    const char **header;
    size_t columns;
    uint64_t initials; // bit c % 64 is set if a column's name begins with c
    struct csv_row *rows;
    size_t count;
    char separator;
    struct arena arena; // owns all of it
};

// Parses a table. `name` is the file's name in errors. csv_free() accepts a zeroed struct.
int csv_parse(struct csv *out, const char *text, size_t length, const char *name,
              struct error *err);
// How csv_parse_leaving() treats a row that cannot be read: `leave` is called with the reason, and
// if it returns 0, the row's first line is left out and parsing goes on after it. A row may end
// behind the column `enough`; the missing fields are empty. If the header has no comma, tabs or
// semicolons may separate the fields.
struct csv_lenience {
    int (*leave)(void *context, struct error *err);
    void *context;
    const char *enough; // NULL, or a name that no column has: each row must have all fields
};
int csv_parse_leaving(struct csv *out, const char *text, size_t length, const char *name,
                      const struct csv_lenience *lenience, struct error *err);
// Parses a table without a header line, or one whose header counts as the first row. The columns
// are named "1", "2", ... An empty text has no rows and no columns. Tabs or semicolons may separate
// the fields.
int csv_parse_bare(struct csv *out, const char *text, size_t length, const char *name,
                   struct error *err);
void csv_free(struct csv *csv);

// A table that is read in pieces, so that only some rows are in memory. The text and its name must
// live as long. csv_pieces_free() accepts a zeroed struct.
struct csv_pieces {
    struct csv csv; // the header, and the rows of the piece that was read last
    const char *name, *first, *at, *end;
    size_t first_line, line;
    struct arena arena; // owns the piece's rows
};
int csv_pieces_open(struct csv_pieces *out, const char *text, size_t length, const char *name,
                    struct error *err);
// Reads the next rows, `most` at most, in place of those before; none are left if csv.count is 0.
int csv_pieces_next(struct csv_pieces *pieces, size_t most, struct error *err);
void csv_pieces_rewind(struct csv_pieces *pieces); // the next piece is the first again
void csv_pieces_free(struct csv_pieces *pieces);

int csv_column(const struct csv *csv, const char *name); // index, -1 if there is no such column
// Returns a field of our own tables without the apostrophe that buffer_csv() puts in front of a
// formula.
const char *csv_plain(const char *field);

// Numbers in the notation of a machine's language, with a decimal point or a decimal comma.
//
// Reads "1,234.5", or "1.234,5" if `mark` is a comma. Thousands may also be separated by blanks of
// any width and by apostrophes. NaN: the text is no such number.
double csv_number(const char *text, char mark);

// The doubts about decimal marks that csv_write_plainly() could not settle. `unsaid` and `odd` are
// numbers of columns, counted from 1: the first column with that doubt; 0: no column has it.
struct csv_doubt {
    size_t unsaid; // its commas may be thousands separators or decimal commas
    size_t odd;    // some of its numbers have a decimal point, others a decimal comma
    size_t row;    // the row of a number with a decimal comma
    bool points;   // in some numbers a point may separate thousands (1.201); it was taken for a
                   // decimal point
};
// Rewrites numbers with a decimal point, in each column whose mark can be told from its own cells
// or from the other columns. Columns in doubt stay as they are.
void csv_write_plainly(struct csv_doubt *doubt, struct csv *csv);

#endif
