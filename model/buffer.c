// SPDX-License-Identifier: Apache-2.0
//
// Text that grows in memory, with the escapes of CSV, XML and JSON, and tables made of it. No file
// is opened here.
#include "model/buffer.h"

#include "model/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(struct buffer *buffer, size_t more)
{
    size_t needed = buffer->length + more + 1;
    if (needed <= buffer->capacity)
        return;
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity < needed)
        capacity *= 2;
    buffer->bytes = xrealloc(buffer->bytes, capacity, 1);
    buffer->capacity = capacity;
}

void buffer_add(struct buffer *buffer, const char *bytes, size_t length)
{
    reserve(buffer, length);
    if (length > 0)
        memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    buffer->bytes[buffer->length] = '\0';
}

void buffer_puts(struct buffer *buffer, const char *text)
{
    buffer_add(buffer, text, strlen(text));
}

static void PRINTF_LIKE(2, 0)
    add_formatted(struct buffer *buffer, const char *format, va_list values)
{
    va_list again;
    char text[512]; // most texts are short, and are written from here at once
    va_copy(again, values);
    int length = vsnprintf(text, sizeof(text), format, values);
    if (length > 0 && (size_t)length < sizeof(text)) {
        buffer_add(buffer, text, (size_t)length);
    } else if (length > 0) {
        reserve(buffer, (size_t)length);
        vsnprintf(buffer->bytes + buffer->length, (size_t)length + 1, format, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    add_formatted(buffer, format, values);
    va_end(values);
}

void buffer_free(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}

void buffer_print(struct buffer *buffer, FILE *file)
{
    fwrite(buffer->bytes ? buffer->bytes : "", 1, buffer->length, file);
    buffer_free(buffer);
}

void buffer_number(struct buffer *buffer, double value)
{
    char text[NUMBER_TEXT];
    number_text(text, value);
    buffer_puts(buffer, text);
}

static void put_field(struct buffer *buffer, const char *text)
{
    // Some readers take a leading '#' for a comment, and some trim blanks at the ends, so such
    // texts are quoted.
    size_t length = strlen(text);
    bool plain = !strpbrk(text, ",\"\r\n") && text[0] != '#' && text[0] != ' ' &&
                 (length == 0 || text[length - 1] != ' ');
    if (plain) {
        buffer_puts(buffer, text);
        return;
    }
    buffer_puts(buffer, "\"");
    for (const char *c = text; *c; c++) {
        if (*c == '"')
            buffer_puts(buffer, "\"");
        buffer_add(buffer, c, 1);
    }
    buffer_puts(buffer, "\"");
}

// Whether a spreadsheet would take the text for a formula; a number is none. A text that begins
// with an apostrophe is guarded, too, so that removing the guard restores it.
static bool is_formula(const char *text)
{
    double ignored;
    return text[0] && strchr("=+-@'\t\r", text[0]) && parse_double(&ignored, text);
}

void buffer_csv(struct buffer *buffer, const char *text)
{
    if (is_formula(text)) {
        char *guarded = xprintf("'%s", text);
        put_field(buffer, guarded);
        free(guarded);
    } else {
        put_field(buffer, text);
    }
}

// The number of bytes at the beginning that need no escape: printable ASCII without the characters
// of `special`.
static size_t plain_length(const char *text, const char *special)
{
    size_t i = 0;
    for (; text[i] >= 0x20 && text[i] < 0x7f; i++) {
        for (const char *c = special; *c; c++) {
            if (text[i] == *c)
                return i;
        }
    }
    return i;
}

void buffer_json(struct buffer *buffer, const char *text, const char *also)
{
    const char *end = text + strlen(text);
    char special[16] = "\"\\";
    const bool fits = strlen(also) < sizeof(special) - 2;
    memcpy(special + 2, also, fits ? strlen(also) : 0);
    while (text < end) {
        const size_t plain = fits ? plain_length(text, special) : 0;
        if (plain) {
            buffer_add(buffer, text, plain);
            text += plain;
            continue;
        }
        const size_t length = utf8_length(NULL, text, (size_t)(end - text));
        const unsigned char c = (unsigned char)*text;
        if (length == 0)
            buffer_puts(buffer, "\xef\xbf\xbd"); // U+FFFD
        else if (c == '"' || c == '\\')
            buffer_printf(buffer, "\\%c", c);
        else if (c < 0x20 || c == 0x7f || strchr(also, c))
            buffer_printf(buffer, "\\u%04x", c);
        else
            buffer_add(buffer, text, length);
        text += length ? length : 1;
    }
}

// ---- tables ----

static void put_cell(const struct text_table *table, size_t column, const char *text)
{
    const int width = column < table->count ? table->columns[column].width : 0;
    const bool missing =
        strcmp(text, "nan") == 0 || strcmp(text, "-nan") == 0 || strcmp(text, "+nan") == 0;
    buffer_printf(table->out, "%s%*s", column ? " " : "", width, missing ? "-" : text);
}

// Ends a line; empty cells at its end are not printed.
static void end_line(const struct text_table *table)
{
    struct buffer *out = table->out;
    while (out->length && out->bytes[out->length - 1] == ' ')
        out->length--;
    buffer_puts(out, "\n");
}

void table_heads(const struct text_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        put_cell(table, i, table->columns[i].head);
    end_line(table);
}

void table_row(const struct text_table *table, const char *cells, ...)
{
    struct buffer line = {0};
    va_list values;
    va_start(values, cells);
    add_formatted(&line, cells, values);
    va_end(values);
    char *rest = line.bytes;
    for (size_t column = 0; rest; column++)
        put_cell(table, column, strsep(&rest, "\t"));
    end_line(table);
    buffer_free(&line);
}
