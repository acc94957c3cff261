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

#endif
