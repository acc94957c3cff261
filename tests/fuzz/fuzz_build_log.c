// SPDX-License-Identifier: Apache-2.0
//
// The log of a stranger's build.
#include "runner/build/build.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct build_error errors[BUILD_ERRORS];
    struct arena arena = {0};
    char *log = arena_alloc(&arena, size + 1);
    if (size)
        memcpy(log, bytes, size);
    build_errors_find(errors, log, &arena);
    arena_free(&arena);
}
