// SPDX-License-Identifier: Apache-2.0
//
// Figures as bytes and back.
#include "ci/history/packed.h"

#include <string.h>

void put(struct buffer *out, uint64_t value)
{
    char bytes[10];
    size_t count = 0;
    for (; value >= 128; value >>= 7)
        bytes[count++] = (char)(value % 128 + 128);
    bytes[count++] = (char)value;
    buffer_add(out, bytes, count);
}

void put_real(struct buffer *out, double value)
{
    uint64_t bits;
    char bytes[8];
    memcpy(&bits, &value, sizeof(bits));
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(bits >> (8 * i) & 255);
    buffer_add(out, bytes, sizeof(bytes));
}

void put_text(struct buffer *out, const char *text)
{
    put(out, strlen(text));
    buffer_add(out, text, strlen(text));
}

uint64_t get(struct reader *r)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end)
            break;
        const unsigned char byte = *r->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    r->bad = true;
    return 0;
}

size_t get_count(struct reader *r)
{
    const uint64_t count = get(r);
    r->bad |= count > (uint64_t)(r->end - r->at);
    return r->bad ? 0 : (size_t)count;
}

size_t get_index(struct reader *r, size_t count)
{
    const uint64_t index = get(r);
    r->bad |= index >= count;
    return r->bad ? 0 : (size_t)index;
}

double get_real(struct reader *r)
{
    uint64_t bits = 0;
    double value;
    if (r->end - r->at < 8) {
        r->bad = true;
        return 0;
    }
    for (int i = 0; i < 8; i++)
        bits |= (uint64_t)*r->at++ << (8 * i);
    memcpy(&value, &bits, sizeof(value));
    return value;
}

const char *get_text(struct reader *r)
{
    const size_t length = get_count(r);
    const char *text = arena_strndup(r->arena, (const char *)r->at, length);
    r->at += length;
    r->bad |= strlen(text) != length;
    return text;
}
