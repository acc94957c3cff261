// SPDX-License-Identifier: Apache-2.0
//
// What a captured program's library tells of its launches.
#include "model/record/record.h"
#include "tests/fuzz/fuzz.h"

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    struct survey survey;
    struct error err;
    survey_parse(&survey, arena_copy(&arena, bytes, size), size, &arena, &err);
    arena_free(&arena);
}
