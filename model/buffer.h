// SPDX-License-Identifier: Apache-2.0
//
// A growing text in memory, and the escapes of the formats that text is written in. Reports,
// exports and figures of models write into a buffer; their callers write the file. A zeroed struct
// is an empty buffer.
#ifndef PLUMB_BUFFER_H
#define PLUMB_BUFFER_H

#include "model/base.h"

#include <stdio.h>

struct buffer {
    char *bytes; // NUL-terminated, NULL while nothing was added
    size_t length, capacity;
};

void buffer_add(struct buffer *buffer, const char *bytes, size_t length);
void buffer_puts(struct buffer *buffer, const char *text);
void buffer_printf(struct buffer *buffer, const char *format, ...) PRINTF_LIKE(2, 3);
void buffer_free(struct buffer *buffer);              // leaves it empty
void buffer_print(struct buffer *buffer, FILE *file); // prints the text, and frees it

// Appends the shortest text that reads back as the same double.
void buffer_number(struct buffer *buffer, double value);
// Appends a CSV field, quoted if RFC 4180 demands it. A text that a spreadsheet would take for a
// formula gets an apostrophe in front (OWASP, "CSV Injection"); csv_plain() removes it again.
void buffer_csv(struct buffer *buffer, const char *text);
// Appends the inside of a JSON string, without the quotes around it. Quotes, control bytes and the
// ASCII characters of `also` are escaped; bytes that are not UTF-8 become U+FFFD.
void buffer_json(struct buffer *buffer, const char *text, const char *also);

// A table for a terminal, with a blank between columns. Each column has a width; a negative width
// aligns its cells to the left. A cell that is wider than its column shifts the rest of its line.
struct column_head {
    const char *head;
    int width; // 0: the last column, as wide as its cells
};
struct text_table {
    struct buffer *out;
    const struct column_head *columns;
    size_t count;
};

void table_heads(const struct text_table *table);
// Prints a line of the table. `cells` is the text of all cells with a tab between them; a number
// that is NaN becomes "-".
void table_row(const struct text_table *table, const char *cells, ...) PRINTF_LIKE(2, 3);

// ==== JSON ====
//
// A small JSON writer (RFC 8259). It writes into a buffer, and adds commas and quotes itself.
// Numbers get the fewest digits that read back as the same double; NaN and infinities become null.
//
// Texts keep every character, because a store needs them; reports/text/clean.h writes texts that
// people see. A library reads JSON (baselines/fields.h), because a reader must withstand hostile
// input. A writer need not, and no library writes such numbers into a buffer. That library is
// linked into the same program, so no name here may be one of its own (json_string, json_integer).

struct json {
    struct buffer *out;
    bool comma; // a comma must come before the next value
};

// Writes a comma if one is needed, and then the name; the caller writes the value. All functions
// below begin with this. With `name` NULL the value is an element of an array, or the whole
// document.
void json_name(struct json *json, const char *name);
void json_begin(struct json *json, const char *name, char bracket); // '{' or '['
void json_end(struct json *json, char bracket);                     // '}' or ']'
// Writes a text. Bytes that are not UTF-8 become U+FFFD; NULL becomes null.
void json_text(struct json *json, const char *name, const char *value);
void json_number(struct json *json, const char *name, double value);
// Writes three members: the value under `name`, and "lower" and "upper".
void json_interval(struct json *json, const char *name, struct interval interval);
// Writes a number with `digits` significant digits. 6 digits are 1 ppm, far below any noise, and
// take a third of the space of 17.
void json_rounded(struct json *json, const char *name, double value, int digits);
void json_int(struct json *json, const char *name, int64_t value);
void json_time(struct json *json, const char *name, int64_t time_s); // null if it is not above 0
void json_bool(struct json *json, const char *name, bool value);
void json_newline(struct json *json); // a line break between elements, for people who read the JSON

// Writes only the number, as it stands in JSON and CSV. For NaN JSON has "null"; a CSV writer has
// to leave the cell empty itself.
void json_format_number(char out[NUMBER_TEXT], double value);

#endif
