// SPDX-License-Identifier: Apache-2.0
//
// All runs of the store, and what the newest say of devices and of what is broken now.
#include "ci/site/site_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_READ = 20 }; // the newest that are read whole when they are needed

static int by_key(const void *left, const void *right)
{
    const struct site_place *a = left, *b = right;
    return a->key < b->key ? -1 : a->key > b->key;
}

// Where each series stands, by ascending key.
static struct site_place *all_places(struct site_data *data)
{
    size_t count = data->set.count;
    struct site_place *places = arena_alloc(&data->set.arena, (count + 1) * sizeof(*places));
    for (size_t i = 0; i < count; i++)
        places[i] = (struct site_place){data->set.series[i].series->key, i};
    if (count)
        qsort(places, count, sizeof(*places), by_key);
    return places;
}

int site_run_times(double *times_ns, size_t run, void *context, struct error *err)
{
    const struct site_reading *reading = context;
    const struct site_data *data = reading->data;
    const struct site *site = &data->site;
    struct arena arena = {0};
    struct run_time *times;
    size_t count, at = 0;
    int status = store_run_times(&times, &count, reading->store, site->runs[run].id, &arena, err);
    for (size_t i = 0; i < site->series_count; i++)
        times_ns[i] = NAN;
    for (size_t k = 0; status == 0 && k < count; k++) {
        while (at < site->series_count && data->places[at].key < times[k].series)
            at++;
        if (at < site->series_count && data->places[at].key == times[k].series)
            times_ns[data->places[at].index] = times[k].time_ns;
    }
    arena_free(&arena);
    return status;
}

int site_run_whole(struct run *out, size_t run, void *context, struct error *err)
{
    const struct site_reading *reading = context;
    return store_load_run(out, reading->store, reading->data->site.runs[run].id, err);
}

// What is broken, and what is slower or faster while the history is too short to say so.
static bool says_more(const struct verdict *v, const struct site_series *s)
{
    const bool moved = v->kind == VERDICT_SLOWER || v->kind == VERDICT_FASTER;
    return v->kind == VERDICT_BROKEN || (moved && s->kind == VERDICT_NEW);
}

static void mark_series(struct site_series *s, const struct verdict *v, const struct run *run,
                        struct arena *arena)
{
    s->kind = v->kind;
    s->cause = v->kind == VERDICT_BROKEN ? CAUSE_KERNEL : v->cause;
    if (v->kind != VERDICT_BROKEN)
        s->log_ratio = v->log_ratio;
    s->since = arena_strdup(arena, run->head.id);
    s->since_s = run->head.time_s;
    s->step = NAN;
    s->sentence = arena_strdup(arena, v->sentence);
    s->revision = site_mix(s->revision, (uint64_t)run->id);
}

// The newest plain run alone says what is so now.
static void mark_newest(struct site_series *series, struct site_data *data, const struct run *run)
{
    for (size_t k = 0; k < run->count; k++) {
        const struct result *r = &run->results[k];
        size_t device = site_device_index(&data->site, run->devices[r->device].uuid);
        for (size_t i = 0; i < data->site.series_count; i++) {
            struct site_series *s = &series[i];
            if (s->device == device && strcmp(s->kernel, r->kernel) == 0 &&
                problem_equal(&s->problem, &r->problem) && says_more(&r->verdict, s))
                mark_series(s, &r->verdict, run, &data->set.arena);
        }
    }
}

static void describe_devices(struct site_data *data, struct device *devices, const struct run *run)
{
    struct arena *arena = &data->set.arena;
    for (size_t d = 0; d < run->device_count; d++) {
        const struct device *seen = &run->devices[d];
        size_t i = site_device_index(&data->site, seen->uuid);
        if (i == SIZE_MAX || devices[i].kind[0])
            continue;
        devices[i].kind = arena_strdup(arena, seen->kind);
        devices[i].driver = arena_strdup(arena, seen->driver);
        devices[i].runtime = arena_strdup(arena, seen->runtime);
        devices[i].profile = arena_strdup(arena, seen->profile);
    }
}

// The times of a finished run never change. Its key may be another run's in another store.
static uint64_t revision_of(const struct run_entry *e)
{
    uint64_t hash = (uint64_t)e->finished_s;
    for (const char *c = e->uid; *c; c++)
        hash = site_mix(hash, (unsigned char)*c);
    return e->finished_s ? hash | 1 : 0;
}

static void fill_run(struct site_run *out, const struct site_data *data, const struct run_entry *e)
{
    size_t device = site_device_index(&data->site, e->device_uuid);
    *out = (struct site_run){.id = e->id,
                             .kind = e->kind,
                             .started_s = e->started_s,
                             .finished_s = e->finished_s,
                             .conclusion = e->conclusion,
                             .headline = e->headline,
                             .summary = e->summary,
                             .author = e->author,
                             .commit_s = e->head_s,
                             .revision = revision_of(e),
                             .device = device == SIZE_MAX ? 0 : device};
    memcpy(out->base, e->base, sizeof(out->base));
    memcpy(out->head, e->head, sizeof(out->head));
}

// What only a whole run says: the devices as they are now, and what is broken.
static int read_run(struct site_data *data, struct device *devices, struct site_series *series,
                    const struct run_entry *e, bool *newest, struct error *err)
{
    struct run run = {0};
    if (store_load_run(&run, data->store, e->id, err))
        return -1;
    describe_devices(data, devices, &run);
    if (*newest && e->kind == RUN_MEASURE) {
        mark_newest(series, data, &run);
        *newest = false;
    }
    if (!data->site.repository)
        data->site.repository = arena_strdup(&data->set.arena, run.repository);
    run_free(&run);
    return 0;
}

static bool all_described(const struct site *site)
{
    for (size_t i = 0; i < site->device_count; i++) {
        if (!site->devices[i].kind[0])
            return false;
    }
    return true;
}

int site_fill_runs(struct site_data *data, struct device *devices, struct site_series *series,
                   struct error *err)
{
    struct run_entry *entries;
    struct arena *arena = &data->set.arena;
    size_t count;
    bool newest = true;
    data->places = all_places(data);
    if (store_list_runs(&entries, &count, data->store, STORE_ALL_RUNS, 0, arena, err))
        return -1;
    struct site_run *runs = arena_alloc(arena, count * sizeof(*runs));
    for (size_t i = 0; i < count; i++) {
        fill_run(&runs[i], data, &entries[i]);
        if (i < RUNS_READ && entries[i].finished_s && (newest || !all_described(&data->site)) &&
            read_run(data, devices, series, &entries[i], &newest, err))
            return -1;
    }
    data->site.runs = runs;
    data->site.run_count = count;
    data->site.made_s = count ? entries[0].started_s : 0;
    return 0;
}
