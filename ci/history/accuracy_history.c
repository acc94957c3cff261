// SPDX-License-Identifier: Apache-2.0
//
// A model's accuracy run by run, and the change points in it. The models' own figures on one file
// of rows are model/predict/parts/accuracy.c.
#include "ci/history/accuracy_history.h"

#include "ci/history/history.h"
#include "ci/settings/plain.h"
#include "model/predict/parts/accuracy.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct accuracy_point {
    int64_t run_id;
    int64_t time_s;
    uint32_t commit; // into the group's commits
    float predicted_ns, actual_ns;
};

struct accuracy_group {
    struct accuracy_series series;
    struct accuracy_point *points;
    size_t count, room;
    char (*commits)[OBJECT_ID_TEXT]; // of each run, as they came
    int64_t *runs;                   // that the commits are of
    size_t commit_count, commit_room;
};

static struct accuracy_group *group_of(struct accuracy_history *n, const struct series_entry *s)
{
    for (size_t i = 0; i < n->group_count; i++) {
        struct accuracy_series *g = &n->groups[i].series;
        if (strcmp(g->kernel, s->kernel) == 0 && g->dtype == s->problem.in &&
            strcmp(g->device_uuid, s->device_uuid) == 0)
            return &n->groups[i];
    }
    n->groups = xrealloc(n->groups, n->group_count + 1, sizeof(*n->groups));
    struct accuracy_group *group = &n->groups[n->group_count++];
    *group =
        (struct accuracy_group){.series = {.model = "",
                                           .kernel = arena_strdup(&n->arena, s->kernel),
                                           .dtype = s->problem.in,
                                           .device_uuid = arena_strdup(&n->arena, s->device_uuid)}};
    return group;
}

// Series of one kernel have nearly the same runs in the same order: the next commit is most often
// the one after the last.
static uint32_t commit_index(struct accuracy_group *g, const struct stored_point *p, size_t *hint)
{
    if (*hint < g->commit_count && g->runs[*hint] == p->run_id)
        return (uint32_t)(*hint)++;
    for (size_t k = 0; k < g->commit_count; k++) {
        size_t i = (*hint + k) % g->commit_count;
        if (g->runs[i] == p->run_id) {
            *hint = i + 1;
            return (uint32_t)i;
        }
    }
    if (g->commit_count == g->commit_room) {
        g->commit_room = g->commit_room ? 2 * g->commit_room : 64;
        g->commits = xrealloc(g->commits, g->commit_room, sizeof(*g->commits));
        g->runs = xrealloc(g->runs, g->commit_room, sizeof(*g->runs));
    }
    memcpy(g->commits[g->commit_count], p->commit, sizeof(p->commit));
    g->runs[g->commit_count++] = p->run_id;
    *hint = g->commit_count;
    return (uint32_t)(g->commit_count - 1);
}

void accuracy_history_add(struct accuracy_history *accuracy, const struct series_entry *series,
                          const struct stored_points *stored)
{
    struct accuracy_group *g = group_of(accuracy, series);
    size_t hint = 0;
    for (size_t i = 0; i < stored->count; i++) {
        const struct stored_point *p = &stored->points[i];
        if (!(p->predicted_ns > 0))
            continue;
        g->points = xgrow(g->points, g->count, &g->room, sizeof(*g->points));
        g->points[g->count++] =
            (struct accuracy_point){p->run_id, p->time_s, commit_index(g, p, &hint),
                                    (float)p->predicted_ns, (float)p->time_ns};
        if (i + 1 == stored->count && strcmp(g->series.model, p->model) != 0)
            g->series.model = arena_strdup(&accuracy->arena, p->model);
    }
}

static int by_time(const void *left, const void *right)
{
    const struct accuracy_point *a = left, *b = right;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    return a->run_id < b->run_id ? -1 : a->run_id > b->run_id;
}

static struct run_accuracy run_accuracy_of(const struct accuracy_group *g, size_t first, size_t end,
                                           double *work)
{
    const struct accuracy_point *p = &g->points[first];
    size_t count = end - first;
    struct run_accuracy run = {
        .run_id = p->run_id, .time_s = p->time_s, .count = count, .tau = NAN};
    memcpy(run.commit, g->commits[p->commit], sizeof(run.commit));
    for (size_t i = 0; i < count; i++) {
        double predicted = (double)p[i].predicted_ns, actual = (double)p[i].actual_ns;
        double error = fabs(predicted / actual - 1);
        work[i] = predicted;
        work[count + i] = actual;
        run.mape += error / (double)count;
        run.bias += (actual / predicted - 1) / (double)count;
        run.within += (error <= 0.1) / (double)count;
    }
    if (count > 1)
        run.tau = kendall_tau(work, work + count, count);
    return run;
}

static struct accuracy_series settle(struct accuracy_group *g, struct arena *arena)
{
    struct accuracy_series s = g->series;
    double *work = xcalloc(2 * g->count + 1, sizeof(*work));
    if (g->count)
        qsort(g->points, g->count, sizeof(*g->points), by_time);
    s.runs = arena_alloc(arena, (g->commit_count + 1) * sizeof(*s.runs));
    for (size_t first = 0, end; first < g->count; first = end) {
        for (end = first + 1; end < g->count && g->points[end].run_id == g->points[first].run_id;)
            end++;
        s.runs[s.count++] = run_accuracy_of(g, first, end, work);
    }
    free(work);
    return s;
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

static void group_free(struct accuracy_group *g)
{
    free(g->points);
    free(g->commits);
    free(g->runs);
}

// Its two halves: the runs of each series; the changes of their bias.
static void accuracy_history_collect(struct accuracy_history *accuracy)
{
    accuracy->series =
        arena_alloc(&accuracy->arena, accuracy->group_count * sizeof(*accuracy->series));
    for (size_t i = 0; i < accuracy->group_count; i++) {
        if (accuracy->groups[i].count)
            accuracy->series[accuracy->count++] = settle(&accuracy->groups[i], &accuracy->arena);
        group_free(&accuracy->groups[i]);
    }
    free(accuracy->groups);
    accuracy->groups = NULL;
    accuracy->group_count = 0;
}

void accuracy_history_settle(struct accuracy_history *accuracy)
{
    accuracy_history_collect(accuracy);
    accuracy_history_judge(accuracy);
}

void accuracy_history_free(struct accuracy_history *accuracy)
{
    for (size_t i = 0; i < accuracy->count; i++) {
        changepoints_free(&accuracy->series[i].bias);
        changepoints_free(&accuracy->series[i].error);
    }
    for (size_t i = 0; i < accuracy->group_count; i++)
        group_free(&accuracy->groups[i]);
    free(accuracy->groups);
    arena_free(&accuracy->arena);
    memset(accuracy, 0, sizeof(*accuracy));
}

// ---- kept in the store ----

// A run's accuracy follows from it alone, so it is worked out once and kept in the store.

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

// The rows that the store keeps and those that it did not take, in one order.
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

// ---- for people and programs ----

static const struct column_head run_columns[] = {
    {"model", -20}, {"kernel", -24}, {"type", -5}, {"rows", 5},     {"MAPE %", 8},
    {"bias %", 8},  {"in 10 %", 8},  {"tau", 6},   {"commit", -10}, {"what", 0}};

static void table_run(const struct text_table *table, const struct accuracy_series *s,
                      const struct run_accuracy *n, const char *what)
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
            const struct run_accuracy *n = &s->runs[k];
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
            const struct run_accuracy *n = &s->runs[k];
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
