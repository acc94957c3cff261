// SPDX-License-Identifier: Apache-2.0
//
// Runs, series with their points and links, events, devices and their profiles.
#include "tests/fuzz/read_store.h"

#include "baselines/store.h"
#include "tests/fuzz/fuzz.h"

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

void read_store(struct store *store)
{
    struct arena arena = {0};
    struct stored_event *events;
    struct device_entry *devices;
    struct error err;
    size_t count;
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
