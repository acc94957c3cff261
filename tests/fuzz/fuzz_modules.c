// SPDX-License-Identifier: Apache-2.0
//
// A .gitmodules of a stranger's commit, as the export of a commit reads it.
#include "model/config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct config_file config;
    struct error err;
    if (config_parse(&config, (const char *)bytes, size, "fuzz", &err))
        return;
    for (size_t i = 0; i < config.count; i++) {
        const struct config_entry *e = &config.entries[i];
        if (!e->section || !e->key || (e->value && strlen(e->value) > size))
            abort();
    }
    config_free(&config);
}
