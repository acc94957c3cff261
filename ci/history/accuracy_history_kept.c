// SPDX-License-Identifier: Apache-2.0
//
// A run's accuracy follows from it alone, so it is worked out once and kept in the store.
#include "ci/history/accuracy_history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_AT_ONCE = 200 };

static void add_rows(struct kept_accuracy **rows, size_t *count,
                     const struct accuracy_history *accuracy)
{
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct accuracy_series *s = &accuracy->series[i];
        *rows = xrealloc(*rows, *count + s->count, sizeof(**rows));
        for (size_t k = 0; k < s->count; k++) {
            const struct run_accuracy *n = &s->runs[k];
            struct kept_accuracy *row = &(*rows)[(*count)++];
            *row = (struct kept_accuracy){.run_id = n->run_id,
                                          .time_s = n->time_s,
                                          .dtype = s->dtype,
                                          .device_uuid = s->device_uuid,
                                          .model = s->model,
                                          .count = n->count,
                                          .mape = n->mape,
                                          .bias = n->bias,
                                          .within = n->within,
                                          .tau = n->tau};
            text_copy(row->kernel, sizeof(row->kernel), s->kernel);
            memcpy(row->commit, n->commit, sizeof(row->commit));
        }
    }
}

static int add_run(struct accuracy_history *accuracy, struct store *store, int64_t run,
                   struct error *err)
{
    struct arena arena = {0};
    struct accuracy_source *sources;
    size_t count;
    int status = store_accuracy_sources(&sources, &count, store, run, &arena, err);
    for (size_t i = 0; status == 0 && i < count; i++) {
        const struct stored_points one = {&sources[i].point, 1, ""};
        accuracy_history_add(accuracy, &sources[i].series, &one);
    }
    arena_free(&arena);
    return status;
}

struct learning {
    struct store *store;
    struct kept_accuracy *rows; // that the store did not take
    size_t count;
    struct arena *arena; // of their texts
    bool refused;
};

// A store that takes nothing (full, or busy for long) is complained of once; the rows then stay
// here.
static void keep_rows(struct learning *l, const int64_t *runs, size_t count,
                      struct kept_accuracy *rows, size_t row_count)
{
    struct error err;
    if (!l->refused && store_save_accuracy(l->store, runs, count, rows, row_count, &err) == 0)
        return;
    if (!l->refused)
        fprintf(stderr, "plumb: %s; the models' accuracy is not kept\n", err.text);
    l->refused = true;
    l->rows = xrealloc(l->rows, l->count + row_count + 1, sizeof(*l->rows));
    for (size_t i = 0; i < row_count; i++) {
        struct kept_accuracy *row = &l->rows[l->count++];
        *row = rows[i];
        row->device_uuid = arena_strdup(l->arena, row->device_uuid);
        row->model = arena_strdup(l->arena, row->model);
    }
}

// Each run by itself: a model is that of its run, not of the newest.
static int learn(struct learning *l, const int64_t *runs, size_t count, struct error *err)
{
    struct accuracy_history *accuracy = xcalloc(count, sizeof(*accuracy));
    struct kept_accuracy *rows = NULL;
    size_t row_count = 0;
    int status = 0;
    for (size_t i = 0; status == 0 && i < count; i++) {
        status = add_run(&accuracy[i], l->store, runs[i], err);
        accuracy_history_collect(&accuracy[i]);
        if (status == 0)
            add_rows(&rows, &row_count, &accuracy[i]);
    }
    if (status == 0)
        keep_rows(l, runs, count, rows, row_count);
    for (size_t i = 0; i < count; i++)
        accuracy_history_free(&accuracy[i]);
    free(accuracy);
    free(rows);
    return status;
}

static int by_series(const void *left, const void *right)
{
    const struct kept_accuracy *a = left, *b = right;
    int order = strcmp(a->device_uuid, b->device_uuid);
    if (order == 0)
        order = strcmp(a->kernel, b->kernel);
    if (order == 0)
        order = (a->dtype > b->dtype) - (a->dtype < b->dtype);
    if (order == 0)
        order = (a->time_s > b->time_s) - (a->time_s < b->time_s);
    return order ? order : (a->run_id > b->run_id) - (a->run_id < b->run_id);
}

// Those of the store and those that it did not take, in one order.
static struct kept_accuracy *all_rows(size_t *count, const struct learning *l,
                                      struct kept_accuracy *stored)
{
    struct kept_accuracy *rows = arena_alloc(l->arena, (*count + l->count) * sizeof(*rows));
    if (*count)
        memcpy(rows, stored, *count * sizeof(*rows));
    if (l->count)
        memcpy(rows + *count, l->rows, l->count * sizeof(*rows));
    *count += l->count;
    if (l->count)
        qsort(rows, *count, sizeof(*rows), by_series);
    return rows;
}

static bool same_series(const struct kept_accuracy *a, const struct kept_accuracy *b)
{
    return strcmp(a->kernel, b->kernel) == 0 && a->dtype == b->dtype &&
           strcmp(a->device_uuid, b->device_uuid) == 0;
}

static void add_series(struct accuracy_history *out, const struct kept_accuracy *rows, size_t count)
{
    struct accuracy_series *s = &out->series[out->count++];
    const struct kept_accuracy *newest = &rows[count - 1];
    *s = (struct accuracy_series){.model = newest->model,
                                  .kernel = arena_strdup(&out->arena, newest->kernel),
                                  .dtype = newest->dtype,
                                  .device_uuid = newest->device_uuid,
                                  .runs = arena_alloc(&out->arena, count * sizeof(*s->runs)),
                                  .count = count};
    for (size_t i = 0; i < count; i++) {
        const struct kept_accuracy *r = &rows[i];
        s->runs[i] = (struct run_accuracy){.run_id = r->run_id,
                                           .time_s = r->time_s,
                                           .count = r->count,
                                           .mape = r->mape,
                                           .bias = r->bias,
                                           .within = r->within,
                                           .tau = r->tau};
        memcpy(s->runs[i].commit, r->commit, sizeof(r->commit));
    }
}

int accuracy_history_kept(struct accuracy_history *out, struct store *store, size_t limit,
                          struct error *err)
{
    struct accuracy_history made = {0};
    struct learning l = {.store = store, .arena = &made.arena};
    int64_t *unknown;
    struct kept_accuracy *rows = NULL;
    size_t count = 0, left;
    int status = store_unknown_accuracy(&unknown, &left, store, limit, &made.arena, err);
    for (size_t i = 0; status == 0 && i < left; i += RUNS_AT_ONCE)
        status = learn(&l, unknown + i, left - i < RUNS_AT_ONCE ? left - i : RUNS_AT_ONCE, err);
    if (status == 0)
        status = store_load_accuracy(&rows, &count, store, limit, &made.arena, err);
    if (status) {
        free(l.rows);
        arena_free(&made.arena);
        return -1;
    }
    rows = all_rows(&count, &l, rows);
    free(l.rows);
    made.series = arena_alloc(&made.arena, (count + 1) * sizeof(*made.series));
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && same_series(&rows[first], &rows[end]);)
            end++;
        add_series(&made, rows + first, end - first);
    }
    *out = made;
    return 0;
}
