// SPDX-License-Identifier: Apache-2.0
//
// A model's accuracy run by run, and the change points in it. A run's accuracy depends only on the
// run, so it is computed once and kept in the store. model/predict/parts/accuracy.c computes the
// figures of models on one file of rows.
#include "ci/history/load.h"

#include "ci/settings/progress.h"
#include "model/predict/parts/accuracy.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- one run ----

static int compare(const char *device_a, const char *kernel_a, enum dtype a, const char *device_b,
                   const char *kernel_b, enum dtype b)
{
    int order = strcmp(device_a, device_b);
    if (order == 0)
        order = strcmp(kernel_a, kernel_b);
    return order ? order : strcmp(dtype_name(a), dtype_name(b));
}

static int by_series(const struct kept_accuracy *a, const struct kept_accuracy *b)
{
    return compare(a->device_uuid, a->kernel, a->dtype, b->device_uuid, b->kernel, b->dtype);
}

static int by_kernel(const struct series_entry *a, const struct series_entry *b)
{
    return compare(a->device_uuid, a->kernel, a->problem.in, b->device_uuid, b->kernel,
                   b->problem.in);
}

static int by_head(const void *left, const void *right)
{
    const struct accuracy_source *a = left, *b = right;
    const int order = by_kernel(&a->series, &b->series);
    return order ? order : strcmp(a->point.model, b->point.model);
}

static struct kept_accuracy row_of(const struct accuracy_source *heads, size_t count)
{
    const struct accuracy_source *last = &heads[count - 1];
    struct kept_accuracy row = {.run_id = last->point.run_id,
                                .time_s = last->point.time_s,
                                .dtype = last->series.problem.in,
                                .device_uuid = last->series.device_uuid,
                                .model = last->point.model,
                                .count = count,
                                .tau = NAN};
    double *predicted = xcalloc(2 * count, sizeof(*predicted)), *actual = predicted + count;
    text_copy(row.kernel, sizeof(row.kernel), last->series.kernel);
    memcpy(row.commit, last->point.commit, sizeof(row.commit));
    for (size_t i = 0; i < count; i++) {
        predicted[i] = heads[i].point.predicted_ns;
        actual[i] = heads[i].point.time_ns;
        const double error = fabs(predicted[i] / actual[i] - 1);
        row.mape += error / (double)count;
        row.bias += (actual[i] / predicted[i] - 1) / (double)count;
        row.within += (error <= 0.1) / (double)count;
    }
    if (count > 1)
        row.tau = kendall_tau(predicted, actual, count);
    free(predicted);
    return row;
}

size_t accuracy_rows(struct kept_accuracy *rows, struct accuracy_source *heads, size_t count)
{
    size_t used = 0;
    if (count)
        qsort(heads, count, sizeof(*heads), by_head);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && !by_kernel(&heads[first].series, &heads[end].series);)
            end++;
        rows[used++] = row_of(heads + first, end - first);
    }
    return used;
}

// ---- all runs ----

enum { RUNS_AT_ONCE = 200 };

struct learning {
    struct store *store;
    const struct history_wanted *wanted; // filters; NULL: none
    bool keeps, refused;
    struct kept_accuracy *rows; // rows that the store does not have
    size_t count, room;
    struct arena *arena; // of the rows' texts
};

static int add_run(struct learning *l, int64_t run, struct arena *scratch, struct error *err)
{
    struct accuracy_source *heads;
    size_t count, used = 0;
    if (store_accuracy_sources(&heads, &count, l->store, run, scratch, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (!l->wanted || history_selects(l->wanted, &heads[i].series))
            heads[used++] = heads[i];
    }
    struct kept_accuracy *rows = arena_alloc(scratch, (used + 1) * sizeof(*rows));
    used = accuracy_rows(rows, heads, used);
    for (size_t i = 0; i < used; i++) {
        l->rows = xgrow(l->rows, l->count, &l->room, sizeof(*l->rows));
        l->rows[l->count++] = rows[i];
    }
    return 0;
}

// Computes the rows of each run by itself, because a model's version is that of its run and not the
// newest. If the store cannot be written (it is full, or busy for long), one message says so, and
// the rows are kept in memory only.
static int learn(struct learning *l, const int64_t *runs, size_t count, struct error *err)
{
    struct arena scratch = {0};
    struct error refused;
    const size_t first = l->count;
    int status = 0;
    for (size_t i = 0; status == 0 && i < count; i++)
        status = add_run(l, runs[i], &scratch, err);
    if (status == 0 && l->keeps && !l->refused) {
        l->refused = store_save_accuracy(l->store, runs, count, l->rows + first, l->count - first,
                                         &refused) != 0;
        if (l->refused)
            fprintf(stderr, "plumb: %s; the models' accuracy is not kept\n", refused.text);
        else
            l->count = first;
    }
    for (size_t i = first; i < l->count; i++) {
        l->rows[i].device_uuid = arena_strdup(l->arena, l->rows[i].device_uuid);
        l->rows[i].model = arena_strdup(l->arena, l->rows[i].model);
    }
    arena_free(&scratch);
    return status;
}

static int by_time(const void *left, const void *right)
{
    const struct kept_accuracy *a = left, *b = right;
    int order = by_series(a, b);
    if (order == 0)
        order = (a->time_s > b->time_s) - (a->time_s < b->time_s);
    return order ? order : (a->run_id > b->run_id) - (a->run_id < b->run_id);
}

void accuracy_history_make(struct accuracy_history *out, const struct kept_accuracy *rows,
                           size_t count)
{
    out->series = arena_alloc(&out->arena, (count + 1) * sizeof(*out->series));
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && by_series(&rows[first], &rows[end]) == 0;)
            end++;
        const struct kept_accuracy *newest = &rows[end - 1];
        out->series[out->count++] = (struct accuracy_series){
            newest->model, newest->kernel, newest->dtype, newest->device_uuid,
            rows + first,  end - first,    {0},           {0}};
    }
}

void accuracy_history_judge(struct accuracy_history *accuracy)
{
    for (size_t i = 0; i < accuracy->count; i++) {
        struct accuracy_series *s = &accuracy->series[i];
        double *work = xcalloc(s->count + 1, sizeof(*work));
        for (size_t k = 0; k < s->count; k++)
            work[k] = log1p(s->runs[k].bias);
        changepoints_find(&s->bias, work, s->count, NULL);
        for (size_t k = 0; k < s->count; k++)
            work[k] = log(s->runs[k].mape + 0.001);
        changepoints_find(&s->error, work, s->count, NULL);
        free(work);
    }
}

void accuracy_history_free(struct accuracy_history *accuracy)
{
    for (size_t i = 0; i < accuracy->count; i++) {
        changepoints_free(&accuracy->series[i].bias);
        changepoints_free(&accuracy->series[i].error);
    }
    arena_free(&accuracy->arena);
    memset(accuracy, 0, sizeof(*accuracy));
}

// The store's rows of a run cover all its series.
int accuracy_history_load(struct accuracy_history *out, struct store *store,
                          const struct history_wanted *wanted, size_t limit, struct error *err)
{
    const bool all = !wanted->kernel && !wanted->problem && !wanted->device;
    struct accuracy_history made = {0};
    struct learning l = {.store = store,
                         .wanted = all ? NULL : wanted,
                         .keeps = all && wanted->keeps,
                         .arena = &made.arena};
    struct kept_accuracy *rows = NULL;
    int64_t *runs;
    size_t count = 0, left;
    int status = store_accuracy_runs(&runs, &left, store, !all, limit, &made.arena, err);
    for (size_t i = 0; status == 0 && i < left; i += RUNS_AT_ONCE)
        status = learn(&l, runs + i, left - i < RUNS_AT_ONCE ? left - i : RUNS_AT_ONCE, err);
    if (status == 0 && all)
        status = store_load_accuracy(&rows, &count, store, limit, &made.arena, err);
    if (status == 0) {
        struct kept_accuracy *both = arena_alloc(&made.arena, (count + l.count) * sizeof(*both));
        for (size_t i = 0; i < count + l.count; i++)
            both[i] = i < count ? rows[i] : l.rows[i - count];
        if (l.count) // those from the store are sorted
            qsort(both, count + l.count, sizeof(*both), by_time);
        accuracy_history_make(&made, both, count + l.count);
        *out = made;
    } else {
        arena_free(&made.arena);
    }
    free(l.rows);
    return status;
}
