// SPDX-License-Identifier: Apache-2.0
//
// The models' accuracy in each run: which runs are not known yet, what their figures are made of,
// and the figures that were made.
#include "baselines/content.h"
#include "baselines/kept/judgement.h"

#include <math.h>
#include <string.h>

static int read_run(void *item, const struct row_list *list, struct error *err)
{
    (void)err;
    *(int64_t *)item = row_int(list->row, 0);
    return 0;
}

int store_unknown_accuracy(int64_t **runs, size_t *count, struct store *store, size_t limit,
                           struct arena *arena, struct error *err)
{
    struct row_list list = {
        .store = store,
        .row = statement_bind(store, SQL_UNKNOWN_ACCURACY, CELLS(INT(limit ? (int64_t)limit : -1))),
        .arena = arena};
    if (statement_list(&list, sizeof(**runs), read_run, err))
        return -1;
    *runs = list.items;
    *count = list.count;
    return 0;
}

static int read_source(void *item, const struct row_list *list, struct error *err)
{
    const int64_t *run_id = list->given;
    struct accuracy_source *out = item;
    struct arena *arena = list->arena;
    sqlite3_stmt *row = list->row;
    struct error ignored;
    memset(out, 0, sizeof(*out));
    const char *problem = (const char *)sqlite3_column_text(row, 1);
    out->series.device_uuid = row_text(row, 2, arena);
    out->series.device_name = "";
    out->point = (struct stored_point){.run_id = *run_id,
                                       .time_s = row_int(row, 4),
                                       .time_ns = row_real(row, 5),
                                       .predicted_ns = row_real(row, 6),
                                       .model = row_text(row, 7, arena),
                                       .driver = "",
                                       .runtime = ""};
    bool sound = row_copy(out->series.kernel, sizeof(out->series.kernel), row, 0) && problem &&
                 problem_parse(&out->series.problem, problem, &ignored) == 0 &&
                 row_copy(out->point.commit, sizeof(out->point.commit), row, 3);
    return sound ? 0 : store_damaged(list->store, "a series", err);
}

int store_accuracy_sources(struct accuracy_source **out, size_t *count, struct store *store,
                           int64_t run_id, struct arena *arena, struct error *err)
{
    struct row_list list = {.store = store,
                            .row = statement_bind(store, SQL_ACCURACY_SOURCES, CELLS(INT(run_id))),
                            .arena = arena,
                            .given = &run_id};
    if (statement_list(&list, sizeof(**out), read_source, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}

static int put_kept(struct store *store, const int64_t *runs, size_t run_count,
                    const struct kept_accuracy *rows, size_t count, struct error *err)
{
    for (size_t i = 0; i < run_count; i++) {
        if (statement_run(store, err, SQL_DROP_ACCURACY, CELLS(INT(runs[i]))) ||
            statement_run(store, err, SQL_KNOW_ACCURACY, CELLS(INT(runs[i]))))
            return -1;
    }
    for (size_t i = 0; i < count; i++) {
        const struct kept_accuracy *n = &rows[i];
        if (statement_run(store, err, SQL_ADD_ACCURACY,
                          CELLS(INT(n->run_id), TEXT(n->kernel), TEXT(dtype_name(n->dtype)),
                                TEXT(n->device_uuid), TEXT(n->model), INT(n->count), REAL(n->mape),
                                REAL(n->bias), isnan(n->tau) ? NOTHING : REAL(n->tau),
                                REAL(n->within))))
            return -1;
    }
    return 0;
}

int store_save_accuracy(struct store *store, const int64_t *runs, size_t run_count,
                        const struct kept_accuracy *rows, size_t count, struct error *err)
{
    if (transaction_begin(store, err))
        return -1;
    return transaction_end(store, put_kept(store, runs, run_count, rows, count, err), err);
}

// The same few devices and models stand in every row: the last row's text is most often this one's.
static const char *shared_text(const char *last, sqlite3_stmt *row, int column, struct arena *arena)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return last && text && strcmp(last, text) == 0 ? last : row_text(row, column, arena);
}

static int read_kept(void *item, const struct row_list *list, struct error *err)
{
    struct kept_accuracy *out = item;
    const struct kept_accuracy *last = list->count ? out - 1 : NULL;
    sqlite3_stmt *row = list->row;
    const char *dtype = (const char *)sqlite3_column_text(row, 4);
    memset(out, 0, sizeof(*out));
    out->run_id = row_int(row, 0);
    out->time_s = row_int(row, 1);
    out->device_uuid = shared_text(last ? last->device_uuid : NULL, row, 5, list->arena);
    out->model = shared_text(last ? last->model : NULL, row, 6, list->arena);
    out->count = (size_t)row_int(row, 7);
    out->mape = row_real(row, 8);
    out->bias = row_real(row, 9);
    out->tau = row_real(row, 10);
    out->within = row_real(row, 11);
    bool sound = row_copy(out->commit, sizeof(out->commit), row, 2) &&
                 row_copy(out->kernel, sizeof(out->kernel), row, 3) && dtype &&
                 dtype_parse(&out->dtype, dtype) == 0 && out->bias > -1;
    return sound ? 0 : store_damaged(list->store, "a run's accuracy", err);
}

int store_load_accuracy(struct kept_accuracy **out, size_t *count, struct store *store,
                        size_t limit, struct arena *arena, struct error *err)
{
    struct row_list list = {
        .store = store,
        .row = statement_bind(store, SQL_LOAD_ACCURACY, CELLS(INT(limit ? (int64_t)limit : -1))),
        .arena = arena};
    if (statement_list(&list, sizeof(**out), read_kept, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}
