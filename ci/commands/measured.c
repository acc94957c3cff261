// SPDX-License-Identifier: Apache-2.0
//
// Rows of files and of the store in one form, and their shapes in two halves.
#include "ci/commands/measured.h"

#include "baselines/store.h"

#include <stdlib.h>
#include <string.h>

static void add_row(struct measured_rows *data, const struct row *row, const char *kernel,
                    double time_ns)
{
    if (data->count == data->room) {
        data->room = data->room * 2 + 1024;
        data->rows = xrealloc(data->rows, data->room, sizeof(*data->rows));
    }
    struct measured *m = &data->rows[data->count];
    *m = (struct measured){.row = *row, .time_ns = time_ns};
    problem_format(m->problem, &row->problem);
    // FP8 with exact sums is another product; with block scales there is no other.
    if (row->traits.promote_k > 0 && row->problem.scales.vector == 0)
        strcat(m->problem, ":promoted");
    m->library = row->traits.tile_m <= 0;
    text_copy(m->kernel, sizeof(m->kernel), kernel);
    const struct gpu *gpu = row->input.gpu;
    double clock = row->input.clock_hz > 0 ? row->input.clock_hz : gpu->clock_hz.value;
    double rate = clock * gpu->sm_count.value * gpu_flops_clk(gpu, row->problem.in);
    m->peak_ns = rate > 0 ? problem_flops(&row->problem) / rate * 1e9 : 0;
    data->count++;
}

int measured_from_csv(struct measured_rows *data, const char *path, const struct row *defaults,
                      struct error *err)
{
    struct csv csv = {0};
    if (rows_open(&csv, path, err))
        return -1;
    int result = 0;
    if (csv_column(&csv, "measured_us") < 0 && csv_column(&csv, "us") < 0)
        result =
            error_set(err, "%s: no column measured_us, so there is nothing to compare with", path);
    for (size_t i = 0; i < csv.count && result == 0; i++) {
        struct row row;
        double measured_us = 0;
        result = row_read(&row, &csv, i, path, defaults, err) ||
                         row_measured(&measured_us, &csv, i, path, err)
                     ? -1
                     : 0;
        if (result == 0 && measured_us > 0)
            add_row(data, &row, row.kernel, measured_us * 1e3);
    }
    csv_free(&csv);
    return result;
}

static int from_run(struct measured_rows *data, const struct run *run, struct error *err)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        double time_ns = measurement_time_ns(&r->head);
        if (r->head.state != MEASURED_OK || !(time_ns > 0))
            continue;
        struct row row = {.problem = r->problem, .traits = r->traits};
        if (data->profiles[r->device].sm_count.value > 0)
            row.input.gpu = &data->profiles[r->device];
        row.input.clock_hz = measurement_clock_hz(&r->head);
        if (row.input.gpu) // a host's own profile is not shipped
            add_row(data, &row, r->kernel, time_ns);
    }
    if (data->count == 0)
        return error_set(err, "run %lld has no correct measurement on a device with a profile",
                         (long long)run->id);
    return 0;
}

static int read_profiles(struct measured_rows *data, const struct run *run, struct store *store,
                         struct error *err)
{
    data->profiles = xcalloc(run->device_count, sizeof(*data->profiles));
    for (size_t i = 0; i < run->device_count; i++) {
        const struct device *device = &run->devices[i];
        const struct gpu *shipped = device->profile ? gpu_find(device->profile) : NULL;
        struct gpu measured = {0};
        bool found = false;
        if (shipped)
            data->profiles[i] = *shipped;
        if (store_load_profile(&measured, &found, store, device->uuid, &data->arena, err))
            return -1;
        if (found)
            gpu_overlay(&data->profiles[i], &measured);
    }
    return 0;
}

int measured_from_store(struct measured_rows *data, const char *path, int64_t id, struct error *err)
{
    struct store *store = NULL;
    struct run run = {0};
    int result = store_open(&store, path, STORE_READ, err);
    if (result == 0 && id == 0)
        result = store_last_run(&id, store, STORE_ALL_RUNS, err);
    if (result == 0 && id == 0)
        result = error_set(err, "%s holds no finished run", path);
    if (result == 0)
        result = store_load_run(&run, store, id, err);
    if (result == 0)
        result = read_profiles(data, &run, store, err);
    if (result == 0)
        result = from_run(data, &run, err);
    run_free(&run);
    store_close(store);
    return result;
}

void measured_split(struct measured_rows *data)
{
    const struct problem **shapes = xcalloc(data->count, sizeof(const struct problem *));
    size_t count = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct problem *p = &data->rows[i].row.problem;
        size_t j = 0;
        while (j < count && (p->m != shapes[j]->m || p->n != shapes[j]->n || p->k != shapes[j]->k))
            j++;
        if (j == count)
            shapes[count++] = p;
        data->rows[i].second_half = j % 2;
    }
    free(shapes);
}

void measured_free(struct measured_rows *rows)
{
    free(rows->rows);
    free(rows->profiles);
    arena_free(&rows->arena);
    *rows = (struct measured_rows){0};
}
