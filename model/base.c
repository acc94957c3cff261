// SPDX-License-Identifier: Apache-2.0
//
// Errors, memory and parsing of numbers, which every room uses. If memory cannot be had, the
// program ends with a line that says so.
#include "model/base.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

int error_set(struct error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    // An error is one line, but text from outside may contain line ends and escape codes.
    for (char *c = err->text; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    }
    return -1;
}

const char *write_failure(int number)
{
    return number == EFBIG ? "it would be larger than a file may be; raise the limit by `ulimit -f`"
                           : strerror(number);
}

void out_of_memory(void)
{
    enum { COULD_NOT = 4 };
    fputs("plumb: out of memory\n", stderr);
    _Exit(COULD_NOT);
}

void *xcalloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        out_of_memory();
    return memory;
}

void *xrealloc(void *memory, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        out_of_memory();
    size_t bytes = count * size;
    void *grown = realloc(memory, bytes ? bytes : 1);
    if (!grown)
        out_of_memory();
    return grown;
}

void *xgrow(void *memory, size_t used, size_t *room, size_t size)
{
    enum { FIRST_ROOM = 64 };
    assert(used <= *room);
    if (used < *room)
        return memory;
    if (*room > SIZE_MAX / 2)
        out_of_memory();
    *room = *room ? 2 * *room : FIRST_ROOM;
    return xrealloc(memory, *room, size);
}

char *xstrdup(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        out_of_memory();
    return copy;
}

char *xprintf(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        out_of_memory();
    return text;
}

int rising_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

const char *plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

void memory_stays(void)
{
#ifdef __GLIBC__
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
    mallopt(M_MMAP_THRESHOLD, 32 << 20); // the largest value that the C library allows
#endif
}

bool text_copy(char *out, size_t size, const char *text)
{
    assert(size > 0);
    size_t length = strlen(text);
    size_t kept = length < size ? length : size - 1;
    memcpy(out, text, kept);
    out[kept] = '\0';
    return kept == length;
}

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    max_align_t data[];
};

void *arena_alloc(struct arena *arena, size_t size)
{
    const size_t align = sizeof(max_align_t);
    if (size > SIZE_MAX / 2)
        out_of_memory();
    size_t need = (size + align - 1) / align * align;
    struct arena_block *block = arena->blocks;
    if (!block || block->size - block->used < need) {
        size_t room = need > 8192 ? need : 8192;
        block = xcalloc(1, sizeof(*block) + room);
        block->size = room;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *memory = (char *)block->data + block->used;
    block->used += need;
    return memory;
}

void *arena_copy(struct arena *arena, const void *bytes, size_t size)
{
    void *copy = arena_alloc(arena, size);
    if (size)
        memcpy(copy, bytes, size);
    return copy;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(length >= 0);
    char *text = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void arena_adopt(struct arena *arena, struct arena *from)
{
    struct arena_block **end = &from->blocks;
    while (*end)
        end = &(*end)->next;
    *end = arena->blocks;
    arena->blocks = from->blocks;
    from->blocks = NULL;
}

void arena_free(struct arena *arena)
{
    struct arena_block *block = arena->blocks;
    while (block) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena->blocks = NULL;
}

int parse_int64(int64_t *out, const char *text)
{
    char *end = NULL;
    int64_t plain = 0;
    int digits = 0; // up to 18 do not overflow
    for (; digits < 18 && text[digits] >= '0' && text[digits] <= '9'; digits++)
        plain = 10 * plain + (text[digits] - '0');
    if (digits > 0 && text[digits] == '\0') {
        *out = plain;
        return 0;
    }
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || (text[0] != '-' && (text[0] < '0' || text[0] > '9')))
        return -1;
    *out = value;
    return 0;
}

int parse_double(double *out, const char *text)
{
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || errno == ERANGE || !isfinite(value) || (unsigned char)text[0] <= ' ')
        return -1;
    *out = value;
    return 0;
}

// ---- places by id ----

struct id_place {
    const char *id;
    size_t at;
};

static int by_id(const void *left, const void *right)
{
    const struct id_place *a = left, *b = right;
    return strcmp(a->id, b->id);
}

struct id_index id_index(const char *ids, size_t stride, size_t count, struct arena *arena)
{
    struct id_index out = {arena_alloc(arena, (count + 1) * sizeof(*out.items)), count};
    for (size_t i = 0; i < count; i++)
        out.items[i] = (struct id_place){ids + i * stride, i};
    if (count)
        qsort(out.items, count, sizeof(*out.items), by_id);
    return out;
}

size_t id_find(const struct id_index *index, const char *id)
{
    const struct id_place key = {.id = id};
    const struct id_place *found =
        index->count ? bsearch(&key, index->items, index->count, sizeof(key), by_id) : NULL;
    return found ? found->at : SIZE_MAX;
}

// ---- text: numbers, UTF-8 and FNV-1a ----

// The significant digits of a text that "%.17g" wrote, as a number of 17 digits, and how many it
// has.
static int64_t seventeen_digits(int *count, const char *text)
{
    int64_t digits = 0;
    *count = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (*text == '0' && digits == 0))
            continue;
        digits = 10 * digits + (*text - '0');
        ++*count;
    }
    for (int i = *count; i < 17; i++)
        digits *= 10;
    return digits;
}

// Whether a value reads back the same from a decimal number that is `apart` units of its 17th digit
// away, known to half a unit. `reach`: half of the distance to the next value, in such units.
static bool reads_back(const char *text, double value, double apart, double reach)
{
    if (fabs(apart - reach) > 0.75)
        return apart < reach;
    return strtod(text, NULL) == value;
}

void number_text(char out[NUMBER_TEXT], double value)
{
    // Beyond these, "%g" may change to an exponent, and values are spaced otherwise. So they are
    // around powers of two.
    static const double least = 1e-290, most = 1e14;
    int count = 0;
    double reach = 0;
    int64_t all = 0;
    snprintf(out, NUMBER_TEXT, "%.17g", value);
    if (fabs(value) > least && fabs(value) < most) {
        int exponent;
        const bool power = fabs(frexp(value, &exponent)) == 0.5;
        all = seventeen_digits(&count, out);
        if (count <= 15)
            return;
        count = power ? 0 : count;
        reach = ldexp((double)all / fabs(value), exponent - DBL_MANT_DIG - 1);
    }
    for (int digits = 15; digits <= 16; digits++) {
        char shorter[NUMBER_TEXT];
        const int64_t unit = digits == 15 ? 100 : 10, rest = all % unit;
        const double apart = (double)(rest < unit - rest ? rest : unit - rest);
        if (count && apart > reach + 0.75)
            continue;
        snprintf(shorter, NUMBER_TEXT, "%.*g", digits, value);
        if (count ? reads_back(shorter, value, apart, reach) : strtod(shorter, NULL) == value) {
            memcpy(out, shorter, NUMBER_TEXT);
            return;
        }
    }
}

void time_text(char out[NUMBER_TEXT], double time_ns)
{
    const double time_us = time_ns / 1e3;
    snprintf(out, NUMBER_TEXT, fabs(time_us) < 1e4 ? "%.4g us" : "%.0f us", time_us);
}

size_t utf8_length(uint32_t *character, const char *text, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    if (left == 0)
        return 0;
    const size_t length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (length == 0 || length > left || s[0] > 0xf4)
        return 0;
    uint32_t value = length == 1 ? s[0] : s[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (s[i] & 0x3fu);
    }
    if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    if (character)
        *character = value;
    return length;
}

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}

uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

// ---- intervals ----

const struct interval interval_unknown = {NAN, -INFINITY, INFINITY};

const struct interval interval_none = {NAN, NAN, NAN};

struct interval interval_about(double value, double half_width)
{
    return (struct interval){value, value - half_width, value + half_width};
}

struct interval interval_relative(struct interval log_ratio)
{
    return (struct interval){expm1(log_ratio.value), expm1(log_ratio.low), expm1(log_ratio.high)};
}
