// SPDX-License-Identifier: Apache-2.0
//
// Text on its way out, with the escapes of CSV, XML and JSON. Nothing here opens a file.
#include "model/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sink_text(const struct sink *sink, const char *text)
{
    sink->write(sink->context, text, strlen(text));
}

void sink_printf(const struct sink *sink, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = NULL;
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        abort(); // out of memory
    sink->write(sink->context, text, (size_t)length);
    free(text);
}

void sink_number(const struct sink *sink, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    sink_text(sink, text);
}

void sink_csv_field(const struct sink *sink, const char *text)
{
    // A leading '#' would read as a comment line, an edge blank could be trimmed by other readers.
    size_t length = strlen(text);
    bool plain = !strpbrk(text, ",\"\r\n") && text[0] != '#' && text[0] != ' ' &&
                 (length == 0 || text[length - 1] != ' ');
    if (plain) {
        sink_text(sink, text);
        return;
    }
    sink_text(sink, "\"");
    for (const char *c = text; *c; c++) {
        if (*c == '"')
            sink_text(sink, "\"");
        sink->write(sink->context, c, 1);
    }
    sink_text(sink, "\"");
}

void sink_xml_text(const struct sink *sink, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '<')
            sink_text(sink, "&lt;");
        else if (*c == '>')
            sink_text(sink, "&gt;");
        else if (*c == '&')
            sink_text(sink, "&amp;");
        else if (*c == '"')
            sink_text(sink, "&quot;");
        else if ((unsigned char)*c >= 0x20 || *c == '\n' || *c == '\t')
            sink->write(sink->context, c, 1);
    }
}

void sink_json_text(const struct sink *sink, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            sink_printf(sink, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            sink_printf(sink, "\\u%04x", (unsigned)*c);
        else
            sink->write(sink->context, c, 1);
    }
}

static void append(void *context, const char *text, size_t length)
{
    struct sink_buffer *buffer = context;
    if (buffer->room - buffer->length <= length) {
        buffer->room = (buffer->length + length + 1) * 2;
        buffer->text = xrealloc(buffer->text, buffer->room, 1);
    }
    memcpy(buffer->text + buffer->length, text, length);
    buffer->length += length;
    buffer->text[buffer->length] = '\0';
}

struct sink sink_to_buffer(struct sink_buffer *buffer)
{
    return (struct sink){append, buffer};
}
