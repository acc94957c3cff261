// SPDX-License-Identifier: Apache-2.0
//
// A shard, as anyone may hand it in: a database file that is merged into a store. Whatever it says,
// the store is whole afterwards. Making a store takes longer than all else, so an empty one is
// copied; it is opened again only after something was merged.
#include "baselines/store.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char ours[400], theirs[400];
static uint8_t *empty; // the bytes of a store that nothing is in
static size_t empty_size;

static void discard(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal", ".lock"};
    char name[420];
    for (size_t i = 0; i < ARRAY_COUNT(endings); i++) {
        snprintf(name, sizeof(name), "%s%s", path, endings[i]);
        unlink(name);
    }
}

static void write_whole(const char *path, const uint8_t *bytes, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd))
        abort();
}

static struct store *open_ours(void)
{
    struct store *store;
    struct error err;
    if (store_open(&store, ours, STORE_WRITE, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return store;
}

static void read_empty(void)
{
    struct stat info;
    snprintf(ours, sizeof(ours), "%s", fuzz_path("ours.db"));
    snprintf(theirs, sizeof(theirs), "%s", fuzz_path("theirs.db"));
    store_close(open_ours());
    const int fd = open(ours, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info))
        abort();
    empty_size = (size_t)info.st_size;
    empty = xcalloc(empty_size, 1);
    if (read(fd, empty, empty_size) != (ssize_t)empty_size || close(fd))
        abort();
    discard(ours);
}

static void merge(void)
{
    static struct store *store;
    struct store_counts added;
    struct store_report report;
    struct error err;
    if (!store) {
        write_whole(ours, empty, empty_size);
        store = open_ours();
    }
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
    if (!empty)
        read_empty();
    discard(theirs);
    write_whole(theirs, bytes, size);
    merge();
}
