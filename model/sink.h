// SPDX-License-Identifier: Apache-2.0
//
// A text sink: where functions that make text (CSV, SVG, traces) put it. model/ writes no files;
// the caller's `write` does, or collects the bytes in a struct sink_buffer.
#ifndef PLUMB_SINK_H
#define PLUMB_SINK_H

#include "model/base.h"

struct sink {
    void (*write)(void *context, const char *text, size_t length);
    void *context;
};

void sink_text(const struct sink *sink, const char *text);
void sink_printf(const struct sink *sink, const char *format, ...) PRINTF_LIKE(2, 3);
// The shortest decimal text that reads back to the same double.
void sink_number(const struct sink *sink, double value);
// One CSV field, quoted as RFC 4180 says when it must be.
void sink_csv_field(const struct sink *sink, const char *text);
// Text inside XML, HTML or SVG: markup characters escaped, control bytes dropped.
void sink_xml_text(const struct sink *sink, const char *text);
// The inside of a JSON string, without the quotes around it.
void sink_json_text(const struct sink *sink, const char *text);

// A sink into memory: `struct sink_buffer b = {0}; struct sink s = sink_to_buffer(&b);`. b.text is
// NUL-terminated (NULL while empty) and the caller's to free().
struct sink_buffer {
    char *text;
    size_t length, room;
};
struct sink sink_to_buffer(struct sink_buffer *buffer);

#endif
