// SPDX-License-Identifier: Apache-2.0
//
// A growing piece of text in memory, and the escapes of the formats that text is written in. Makers
// of text (reports, exports, figures of models) write into a buffer; their callers write the file.
// A zeroed struct is an empty buffer.
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
void buffer_print(struct buffer *buffer, FILE *file); // and frees

// The shortest text that reads back to the same double.
void buffer_number(struct buffer *buffer, double value);
// One CSV field, quoted as RFC 4180 says when it must be. A text that a spreadsheet would take for
// a formula gets an apostrophe in front (OWASP, "CSV Injection"); csv_plain() takes it off again.
void buffer_csv(struct buffer *buffer, const char *text);
// The inside of a JSON string, without the quotes around it: quotes, control bytes and the ASCII
// characters of `also` escaped, bytes that are not UTF-8 as U+FFFD.
void buffer_json(struct buffer *buffer, const char *text, const char *also);

// A table for a terminal: columns as wide as they say, to the left where the width is negative,
// with a blank between two. A cell that is wider moves the rest of its line.
struct column_head {
    const char *head;
    int width; // 0: the last, as wide as its cells
};
struct text_table {
    struct buffer *out;
    const struct column_head *columns;
    size_t count;
};

void table_heads(const struct text_table *table);
// The cells of a line, with a tab between two; "-" where a number is NaN.
void table_row(const struct text_table *table, const char *cells, ...) PRINTF_LIKE(2, 3);

// ==== JSON ====
//
// A small JSON writer (RFC 8259): commas and quoting by itself, into a buffer. Numbers are written
// with the fewest digits that read back as the same double; NaN and infinities become null.
//
// Texts keep every character, as a store must; reports/text/clean.h writes those that people see.
// A library reads JSON (baselines/fields.h): reading has to withstand hostile input, writing
// does not, and no library writes these digits into a buffer. That library is linked beside this
// file: no name here may be one of its own (json_string, json_integer).

struct json {
    struct buffer *out;
    bool comma; // the next value needs one before it
};

// Writes a comma where one is needed, and the name; the caller writes the value. All functions
// below begin so. `name` NULL: an element of an array, or the whole document.
void json_name(struct json *json, const char *name);
void json_begin(struct json *json, const char *name, char bracket); // '{' or '['
void json_end(struct json *json, char bracket);                     // '}' or ']'
// Bytes that are not UTF-8 become U+FFFD; NULL becomes null.
void json_text(struct json *json, const char *name, const char *value);
void json_number(struct json *json, const char *name, double value);
// Three members: its value as `name`, and "lower" and "upper".
void json_interval(struct json *json, const char *name, struct interval interval);
// With so many significant digits: 6 are 1 ppm, far below any noise, and a third of all 17.
void json_rounded(struct json *json, const char *name, double value, int digits);
void json_int(struct json *json, const char *name, int64_t value);
void json_time(struct json *json, const char *name, int64_t time_s); // not above 0: null
void json_bool(struct json *json, const char *name, bool value);
void json_newline(struct json *json); // for people who read it, between elements

// The number alone, as it stands in JSON and CSV; "" in CSV is up to the caller.
void json_format_number(char out[NUMBER_TEXT], double value);

#endif
