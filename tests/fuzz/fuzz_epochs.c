// SPDX-License-Identifier: Apache-2.0
//
// A file of epochs, as it stands in a commit.
#include "baselines/epoch.h"
#include "tests/fuzz/fuzz.h"

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct epoch_list list;
    struct arena arena = {0};
    struct error err;
    epoch_parse(&list, (const char *)bytes, size, "fuzz", &arena, &err);
    arena_free(&arena);
}
