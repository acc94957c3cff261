// SPDX-License-Identifier: Apache-2.0
//
// A growing piece of text in memory: what every report writes into, so that a report is a pure
// function and only report.c touches files. A zeroed struct is an empty buffer.
#ifndef PLUMB_REPORTS_BUFFER_H
#define PLUMB_REPORTS_BUFFER_H

#include "model/base.h"

struct buffer {
    char *bytes; // NUL-terminated, NULL while nothing was added
    size_t length, capacity;
};

void buffer_add(struct buffer *buffer, const char *bytes, size_t length);
void buffer_puts(struct buffer *buffer, const char *text);
void buffer_printf(struct buffer *buffer, const char *format, ...) PRINTF_LIKE(2, 3);
void buffer_free(struct buffer *buffer); // leaves it empty

#endif
