// SPDX-License-Identifier: Apache-2.0
//
// Sources as `plumb init` reads them. What it says that it understood can be written as a shim.
#include "ci/init/init.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

void fuzz_one(const uint8_t *bytes, size_t size)
{
    static const char *const files[] = {"a.cu", "a.c"};
    char *text = xcalloc(size + 1, 1);
    memcpy(text, bytes, size);
    for (size_t f = 0; f < ARRAY_COUNT(files); f++) {
        struct signature_list list = {0};
        struct arena arena = {0};
        signatures_find(&list, &(const struct source_text){files[f], text}, 1, &arena);
        for (size_t i = 0; i < list.count; i++) {
            struct buffer shim = {0};
            const struct call call = shim_call((enum form)(i % FORMS), &list.items[i]);
            if (list.items[i].understood)
                shim_write(&shim, &list.items[i], &call, "kernel");
            if (list.items[i].understood && !strstr(shim.bytes, "PLUMB_LIBRARY("))
                abort();
            buffer_free(&shim);
        }
        arena_free(&arena);
    }
    free(text);
}
