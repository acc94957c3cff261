// SPDX-License-Identifier: Apache-2.0
//
// A file of results for `plumb import`, in whichever form, into a store of its own.
#include "baselines/store.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static struct store *store;

static void end(void)
{
    store_close(store);
}

static void begin(void)
{
    struct error err;
    if (store_open(&store, fuzz_path("store.db"), STORE_WRITE, &err) || atexit(end))
        abort();
}

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
    if (!store)
        begin();
    FILE *file = size ? fmemopen((void *)(uintptr_t)bytes, size, "r") : NULL;
    if (!file)
        return;
    struct import_report r = {0};
    if (store_import(store, file, &from, &added, &r, &err) == 0 &&
        r.rows != r.samples + r.failures + r.unwanted + r.left)
        abort();
    import_report_free(&r);
    fclose(file);
}
