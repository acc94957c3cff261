// SPDX-License-Identifier: Apache-2.0
//
// Keeps judgements of series' histories and of models' accuracy, so that only new points are
// judged. It is a cache that can be deleted and made again.
#include "baselines/judgement.h"

#include "baselines/fields.h"
#include "baselines/pack.h"
#include "baselines/store.h"
#include "model/history/changepoint.h"
#include "model/history/event.h"
#include "model/history/shape.h"
#include "model/robust.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// ==== judgements ====

#define F(...) FIELD_ITEM(history_change, __VA_ARGS__)
STORED_FIELDS(change, "judgement_changes", HISTORY_CHANGE_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(history_break, __VA_ARGS__)
STORED_FIELDS(break, "judgement_breaks", HISTORY_BREAK_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(judgement, __VA_ARGS__)
STORED_FIELDS(judgement, "judgements", JUDGEMENT_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(chart_point, __VA_ARGS__)
STORED_FIELDS(chart_point, "chart_points", CHART_POINT_FIELDS(F));
#undef F

int store_judge_begin(struct store *store, struct error *err)
{
    if (transaction_begin(store, err))
        return -1;
    return transaction_end(store, statement_run(store, err, SQL_ADD_JUDGEMENTS, NULL, 0), err);
}

int store_newest_key(int64_t *out, struct store *store, struct error *err)
{
    return statement_get(out, store, err, SQL_NEWEST_KEY, NULL, 0);
}

// ---- reading ----

static bool is_sound(const struct judgement *j)
{
    bool sound = j->points != SIZE_MAX && j->settled <= j->points &&
                 (j->since == SIZE_MAX || j->since <= j->points);
    for (size_t i = 0; i < j->change_count; i++) {
        const struct change *c = &j->changes[i].change;
        sound &= c->earliest <= c->index && c->index <= c->latest && c->latest < j->points;
    }
    for (size_t i = 0; i < j->break_count; i++)
        sound &= j->breaks[i].index < j->points;
    return sound;
}

static int read_rows(struct judgement *out, struct store *store, int64_t key, struct arena *arena,
                     struct error *err)
{
    if (fields_list(&out->changes, &out->change_count, sizeof(*out->changes), store,
                    SQL_LOAD_CHANGES, key, &change_fields, arena, err) ||
        fields_list(&out->breaks, &out->break_count, sizeof(*out->breaks), store, SQL_LOAD_BREAKS,
                    key, &break_fields, arena, err))
        return -1;
    return is_sound(out) ? 0 : store_damaged(store, "a judgement that was kept", err);
}

int store_load_judgement(struct judgement *out, struct store *store, const struct series *series,
                         struct arena *arena, struct error *err)
{
    struct judgement found = {0};
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_JUDGEMENT, CELLS(INT(key)));
    int status = statement_step(store, row, err);
    if (status > 0) {
        found.marks = row_int(row, 0);
        found.changed = !row_null(row, 1);
        found.changed_s = row_int(row, 1);
        status = fields_load(&found, &judgement_fields, store, row, 2, arena, err);
    }
    sqlite3_reset(row);
    if (status == 0 && found.maker[0])
        status = read_rows(&found, store, key, arena, err);
    if (status == 0)
        *out = found;
    return status;
}

int store_load_chart(struct chart_point **out, size_t *count, struct store *store,
                     const struct series *series, struct arena *arena, struct error *err)
{
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    if (fields_list(out, count, sizeof(**out), store, SQL_LOAD_CHART, key, &chart_point_fields,
                    arena, err))
        return -1;
    for (size_t i = 1; i < *count; i++) {
        if ((*out)[i].index <= (*out)[i - 1].index)
            return store_damaged(store, "a point of a chart", err);
    }
    return 0;
}

// ---- writing ----

int store_save_judgement(struct store *store, const struct series *series,
                         const struct judgement *j, const struct chart_point *chart,
                         size_t chart_count, struct error *err)
{
    int64_t key;
    if (content_find_series(&key, store, series, err) || transaction_begin(store, err))
        return -1;
    int status = fields_run(store, SQL_PUT_JUDGEMENT, CELLS(INT(key), INT(j->marks)),
                            &judgement_fields, j, err);
    if (status == 0)
        status = fields_replace(store, SQL_DROP_CHANGES, SQL_ADD_CHANGE, key, &change_fields,
                                j->changes, j->change_count, sizeof(*j->changes), err);
    if (status == 0)
        status = fields_replace(store, SQL_DROP_BREAKS, SQL_ADD_BREAK, key, &break_fields,
                                j->breaks, j->break_count, sizeof(*j->breaks), err);
    if (status == 0 && chart_count)
        status = fields_replace(store, SQL_DROP_CHART, SQL_ADD_CHART_POINT, key,
                                &chart_point_fields, chart, chart_count, sizeof(*chart), err);
    return transaction_end(store, status, err);
}

// ---- intervals ----

int store_half_width(double *out, struct store *store, int64_t measurement, struct error *err)
{
    struct arena arena = {0};
    struct sample *samples;
    size_t count;
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_SAMPLES, CELLS(INT(measurement)));
    int status = statement_step(store, row, err);
    *out = NAN;
    if (status > 0) {
        struct error ignored;
        double *times;
        size_t used = 0;
        // A damaged blob is reported by store_check(); here the point only gets no interval.
        if (unpack_samples(&samples, &count, sqlite3_column_blob(row, 0),
                           (size_t)sqlite3_column_bytes(row, 0), &arena, &ignored) == 0) {
            times = arena_alloc(&arena, count * sizeof(*times));
            for (size_t i = 0; i < count; i++) {
                if (samples[i].role == ROLE_HEAD && !samples[i].excluded && samples[i].time_ns > 0)
                    times[used++] = samples[i].time_ns;
            }
            double se = robust_mean(times, used).se;
            *out = isfinite(se) ? 2 * se : NAN;
        }
        status = 0;
    }
    sqlite3_reset(row);
    arena_free(&arena);
    return status;
}

static int read_run(void *item, const struct row_list *list, struct error *err)
{
    (void)err;
    *(int64_t *)item = row_int(list->row, 0);
    return 0;
}

int store_accuracy_runs(int64_t **runs, size_t *count, struct store *store, bool every,
                        size_t limit, struct arena *arena, struct error *err)
{
    struct row_list list = {.store = store,
                            .row =
                                statement_bind(store, SQL_ACCURACY_RUNS,
                                               CELLS(INT(limit ? (int64_t)limit : -1), INT(every))),
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

// All rows have the same few devices and models, so the last row's text is reused if it is equal.
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

// ==== the results of links ====
//
// Keeps the results that were computed from links. It is a cache that can be deleted and made again
// from the links.

int store_newest_link(int64_t *out, struct store *store, const struct series *series,
                      struct error *err)
{
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    return statement_get(out, store, err, SQL_NEWEST_LINK, CELLS(INT(key)));
}

// ---- changes and levels of one series ----

#define F(...) FIELD_ITEM(linked_change, __VA_ARGS__)
STORED_FIELDS(linked_change, "link_changes", LINKED_CHANGE_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(linked_misfit, __VA_ARGS__)
STORED_FIELDS(linked_misfit, "link_misfits", LINKED_MISFIT_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(kept_links, __VA_ARGS__)
STORED_FIELDS(kept_links, "kept_links", KEPT_LINKS_FIELDS(F));
#undef F

int store_load_kept_links(struct kept_links *out, struct store *store, const struct series *series,
                          struct arena *arena, struct error *err)
{
    struct linked_history *l = &out->history;
    int64_t key;
    *out = (struct kept_links){0};
    if (content_find_series(&key, store, series, err))
        return -1;
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_KEPT_LINKS, CELLS(INT(key)));
    int status = statement_step(store, row, err);
    if (status > 0)
        status = fields_load(out, &kept_links_fields, store, row, 1, arena, err);
    sqlite3_reset(row);
    if (status || !out->maker[0])
        return status;
    return fields_list(&l->changes, &l->change_count, sizeof(*l->changes), store,
                       SQL_LOAD_LINK_CHANGES, key, &linked_change_fields, arena, err) ||
                   fields_list(&l->misfits, &l->misfit_count, sizeof(*l->misfits), store,
                               SQL_LOAD_MISFITS, key, &linked_misfit_fields, arena, err)
               ? -1
               : 0;
}

int store_save_kept_links(struct store *store, const struct series *series,
                          const struct kept_links *kept, struct error *err)
{
    const struct linked_history *l = &kept->history;
    int64_t key;
    if (content_find_series(&key, store, series, err) || transaction_begin(store, err))
        return -1;
    int status =
        fields_run(store, SQL_PUT_KEPT_LINKS, CELLS(INT(key)), &kept_links_fields, kept, err);
    if (status == 0)
        status = fields_replace(store, SQL_DROP_LINK_CHANGES, SQL_ADD_LINK_CHANGE, key,
                                &linked_change_fields, l->changes, l->change_count,
                                sizeof(*l->changes), err);
    if (status == 0)
        status = fields_replace(store, SQL_DROP_MISFITS, SQL_ADD_MISFIT, key, &linked_misfit_fields,
                                l->misfits, l->misfit_count, sizeof(*l->misfits), err);
    return transaction_end(store, status, err);
}
