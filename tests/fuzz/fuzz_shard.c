// SPDX-License-Identifier: Apache-2.0
//
// A shard, as anyone may hand it in: a database file that is merged into a store. Whatever it says,
// the store is whole afterwards and all of it can be read; a shard that is refused leaves nothing.
#include "baselines/event.h"
#include "baselines/link.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/one_store.h"

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

static void read_runs(struct store *store, struct arena *arena)
{
    struct run_entry *entries;
    struct error err;
    size_t count;
    must(store_list_runs(&entries, &count, store, STORE_ALL_RUNS, 0, arena, &err) == 0, err.text);
    for (size_t i = 0; i < count; i++) {
        struct run run;
        must(store_load_run(&run, store, entries[i].id, &err) == 0, err.text);
        run_free(&run);
    }
}

static void read_series(struct store *store, struct arena *arena)
{
    const struct history_query query = {.comparisons = true};
    struct series_entry *entries;
    struct error err;
    size_t count, linked;
    must(store_list_series(&entries, &count, store, arena, &err) == 0, err.text);
    for (size_t i = 0; i < count; i++) {
        const struct series_entry *e = &entries[i];
        const struct series series = {e->kernel, &e->problem, e->device_uuid};
        struct stored_points points;
        struct link *links;
        must(store_points(&points, store, &series, &query, arena, &err) == 0, err.text);
        must(store_links(&links, &linked, store, &series, arena, &err) == 0, err.text);
    }
}

static void read_all(struct store *store)
{
    struct store_report report;
    struct arena arena = {0};
    struct stored_event *events;
    struct device_entry *devices;
    struct error err;
    size_t count;
    must(store_check(&report, store, &err) == 0, err.text);
    must(report.problems == 0, report.first);
    read_runs(store, &arena);
    read_series(store, &arena);
    must(store_load_events(&events, &count, store, &arena, &err) == 0, err.text);
    must(store_list_devices(&devices, &count, store, &arena, &err) == 0, err.text);
    for (size_t i = 0; i < count; i++) {
        struct gpu gpu;
        bool found;
        must(store_load_profile(&gpu, &found, store, devices[i].uuid, &arena, &err) == 0, err.text);
    }
    arena_free(&arena);
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
        read_all(store);
        one_store_empty();
    }
    must(store_info(&report, store, &err) == 0, err.text);
    must(memcmp(&report.counts, &none, sizeof(none)) == 0, "a shard left something");
}
