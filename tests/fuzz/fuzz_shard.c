// SPDX-License-Identifier: Apache-2.0
//
// A shard, as anyone may hand it in: a database file that is merged into a store. Whatever it says,
// the store is whole afterwards and all of it can be read; a shard that is refused leaves nothing.
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/one_store.h"
#include "tests/fuzz/read_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put(const char *theirs, const uint8_t *bytes, size_t size)
{
    const int fd = open(theirs, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0, theirs);
}

static void check(struct store *store)
{
    struct store_report report;
    struct error err;
    must(store_check(&report, store, &err) == 0, err.text);
    must(report.problems == 0, report.first);
    read_store(store);
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    static const struct store_counts none;
    struct store_counts added;
    struct store_report report;
    struct error err;
    struct store *store = one_store();
    const char *theirs = fuzz_path("theirs.db");
    put(theirs, bytes, size);
    if (store_merge(store, theirs, &added, &err) == 0) {
        check(store);
        one_store_empty();
    }
    must(store_info(&report, store, &err) == 0, err.text);
    must(memcmp(&report.counts, &none, sizeof(none)) == 0, "a shard left something");
}
