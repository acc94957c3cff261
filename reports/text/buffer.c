// SPDX-License-Identifier: Apache-2.0
//
// Text that grows in memory. It escapes nothing.
#include "reports/text/buffer.h"

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

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    int length = vsnprintf(NULL, 0, format, values);
    va_end(values);
    if (length > 0) {
        reserve(buffer, (size_t)length);
        vsnprintf(buffer->bytes + buffer->length, (size_t)length + 1, format, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
}

void buffer_free(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}
