// SPDX-License-Identifier: Apache-2.0
//
// A shard, as anyone may hand it in: a database file that is merged into a store. Whatever it says,
// the store is whole afterwards.
#include "baselines/store.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/plumb-fuzz-XXXXXX", ours[64], theirs[64];

static void discard(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal", ".lock"};
    char name[96];
    for (size_t i = 0; i < ARRAY_COUNT(endings); i++) {
        snprintf(name, sizeof(name), "%s%s", path, endings[i]);
        unlink(name);
    }
}

static void end(void)
{
    discard(ours);
    discard(theirs);
    rmdir(folder);
}

static struct store *begin(void)
{
    struct store *store;
    struct error err;
    if (!ours[0]) {
        if (!mkdtemp(folder) || atexit(end))
            abort();
        snprintf(ours, sizeof(ours), "%s/ours.db", folder);
        snprintf(theirs, sizeof(theirs), "%s/theirs.db", folder);
    }
    if (store_open(&store, ours, STORE_WRITE, &err))
        abort();
    return store;
}

// Writing is what takes the time: the store is kept until something was merged.
static void merge(void)
{
    static struct store *store;
    struct store_counts added;
    struct store_report report;
    struct error err;
    if (!store)
        store = begin();
    if (store_merge(store, theirs, &added, &err))
        return;
    if (store_check(&report, store, &err) || report.problems) {
        fprintf(stderr, "%s\n", report.first);
        abort();
    }
    store_close(store);
    store = NULL;
    discard(ours);
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    if (!ours[0])
        store_close(begin());
    discard(theirs);
    const int fd = open(theirs, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd))
        abort();
    merge();
}
