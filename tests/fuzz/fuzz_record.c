// SPDX-License-Identifier: Apache-2.0
//
// A record's file. What is read prints to bytes that read back to the same print.
#include "model/record/record.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int print(struct buffer *out, const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    struct record record;
    struct error err;
    char *copy = arena_copy(&arena, bytes, size);
    const int status = record_parse(&record, copy, size, &arena, &err);
    if (status == 0)
        record_print(out, &record);
    arena_free(&arena);
    return status;
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct buffer first = {0}, second = {0};
    if (print(&first, bytes, size) == 0) {
        const int again = print(&second, (const uint8_t *)first.bytes, first.length);
        assert(again == 0);
        assert(first.length == second.length);
        assert(memcmp(first.bytes, second.bytes, first.length) == 0);
    }
    buffer_free(&first);
    buffer_free(&second);
}
