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

// ---- printing for people and programs ----

static const struct column_head run_columns[] = {
    {"model", -20}, {"kernel", -24}, {"type", -5}, {"rows", 5},     {"MAPE %", 8},
    {"bias %", 8},  {"in 10 %", 8},  {"tau", 6},   {"commit", -10}, {"what", 0}};

static void table_run(const struct text_table *table, const struct accuracy_series *s,
                      const struct kept_accuracy *n, const char *what)
{
    char *model = plain_line(s->model), *kernel = plain_line(s->kernel);
    table_row(table, "%s\t%s\t%s\t%zu\t%.2f\t%+.2f\t%.1f\t%.2f\t%.10s\t%s", model, kernel,
              dtype_name(s->dtype), n->count, 100 * n->mape, 100 * n->bias, 100 * n->within, n->tau,
              n->commit, what);
    free(model);
    free(kernel);
}

static const struct change *change_at(const struct changepoints *changes, size_t run)
{
    for (size_t i = 0; i < changes->count; i++) {
        if (changes->changes[i].index == run)
            return &changes->changes[i];
    }
    return NULL;
}

static void table_changes(const struct text_table *table, const struct accuracy_series *s,
                          size_t run)
{
    const struct change *bias = change_at(&s->bias, run), *error = change_at(&s->error, run);
    char what[96];
    size_t used = 0;
    if (!bias && !error)
        return;
    if (bias)
        used = (size_t)snprintf(what, sizeof(what), "bias moved by %+.2f %%%s",
                                100 * expm1(bias->size.value), error ? ", " : "");
    if (error)
        snprintf(what + used, sizeof(what) - used, "MAPE went from %.2f %% to %.2f %%",
                 100 * exp(error->before) - 0.1, 100 * exp(error->after) - 0.1);
    table_run(table, s, &s->runs[run], what);
}

void accuracy_history_print_table(const struct accuracy_history *accuracy)
{
    struct buffer out = {0};
    const struct text_table table = {&out, run_columns, ARRAY_COUNT(run_columns)};
    table_heads(&table);
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct accuracy_series *s = &accuracy->series[i];
        for (size_t k = 0; k < s->count; k++)
            table_changes(&table, s, k);
        table_run(&table, s, &s->runs[s->count - 1], "newest");
    }
    buffer_print(&out, stdout);
}

void accuracy_history_print_csv(const struct accuracy_history *accuracy)
{
    struct buffer out = {0};
    struct csv_line line = {.out = &out};
    csv_raw(&line, "model,kernel,dtype,device,commit,time_s,rows,mape,bias,within_10,tau,"
                   "bias_moved,mape_moved");
    csv_end(&line, "\n");
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct accuracy_series *s = &accuracy->series[i];
        for (size_t k = 0; k < s->count; k++) {
            const struct kept_accuracy *n = &s->runs[k];
            csv_clean(&line, s->model);
            csv_clean(&line, s->kernel);
            csv_text(&line, dtype_name(s->dtype));
            csv_clean(&line, s->device_uuid);
            csv_text(&line, n->commit);
            csv_int(&line, n->time_s);
            csv_int(&line, (int64_t)n->count);
            csv_rounded(&line, n->mape);
            csv_rounded(&line, n->bias);
            csv_rounded(&line, n->within);
            csv_rounded(&line, n->tau);
            csv_int(&line, change_at(&s->bias, k) != NULL);
            csv_int(&line, change_at(&s->error, k) != NULL);
            csv_end(&line, "\n");
        }
    }
    buffer_print(&out, stdout);
}

void accuracy_history_print_json(const struct accuracy_history *accuracy)
{
    struct buffer out = {0};
    struct json json = {.out = &out};
    json_begin(&json, NULL, '{');
    json_begin(&json, "accuracy", '[');
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct accuracy_series *s = &accuracy->series[i];
        for (size_t k = 0; k < s->count; k++) {
            const struct kept_accuracy *n = &s->runs[k];
            json_newline(&json);
            json_begin(&json, NULL, '{');
            json_clean(&json, "model", s->model);
            json_clean(&json, "kernel", s->kernel);
            json_clean(&json, "dtype", dtype_name(s->dtype));
            json_clean(&json, "device", s->device_uuid);
            json_clean(&json, "commit", n->commit);
            json_time(&json, "time_s", n->time_s);
            json_int(&json, "rows", (int64_t)n->count);
            json_number(&json, "mape", n->mape);
            json_number(&json, "bias", n->bias);
            json_number(&json, "within_10", n->within);
            json_number(&json, "tau", n->tau);
            json_bool(&json, "bias_moved", change_at(&s->bias, k) != NULL);
            json_bool(&json, "mape_moved", change_at(&s->error, k) != NULL);
            json_end(&json, '}');
        }
    }
    json_end(&json, ']');
    json_end(&json, '}');
    buffer_puts(&out, "\n");
    buffer_print(&out, stdout);
}
