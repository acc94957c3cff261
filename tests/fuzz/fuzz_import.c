// SPDX-License-Identifier: Apache-2.0
//
// A file of results for `plumb import`, in whichever form, into an empty store.
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/one_store.h"

#include <stdio.h>
#include <stdlib.h>

static int find_commit(struct commit *out, const char *named, void *context, struct error *err)
{
    (void)named, (void)context, (void)err;
    *out = (struct commit){.id = "0123456789abcdef", .summary = "", .author = ""};
    return 0;
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    const struct problem problem = {.m = 8, .n = 8, .k = 8, .batch = 1};
    const struct import_source from = {
        .name = "fuzz", .format = NULL, .find_commit = find_commit, .problem = &problem};
    struct store_counts added;
    struct error err;
    struct store *store = one_store();
    FILE *file = size ? fmemopen((void *)(uintptr_t)bytes, size, "r") : NULL;
    if (!file)
        return;
    struct import_report r = {0};
    if (store_import(store, file, &from, &added, &r, &err) == 0) {
        must(r.rows == r.samples + r.failures + r.unwanted + r.left, "a row is not accounted for");
        one_store_empty();
    }
    import_report_free(&r);
    fclose(file);
}
