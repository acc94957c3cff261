// SPDX-License-Identifier: Apache-2.0
//
// What was judged of a series' history and of the models' accuracy, kept and read back, so that
// only what is new is judged. It is a cache: it can be thrown away and made again.
#include "baselines/kept/judgement.h"

#include "baselines/content.h"
#include "baselines/pack.h"
#include "baselines/store.h"
#include "model/history/changepoint.h"
#include "model/history/event.h"
#include "model/history/shape.h"
#include "model/robust.h"

#include <assert.h>
#include <math.h>
#include <string.h>

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

static int read_change(void *item, const struct row_list *list, struct error *err)
{
    const struct judgement *of = list->given;
    struct history_change *out = item;
    struct arena *arena = list->arena;
    sqlite3_stmt *row = list->row;
    int64_t at = row_int(row, 0), earliest = row_int(row, 1), latest = row_int(row, 2);
    int64_t attribution = row_int(row, 18);
    memset(out, 0, sizeof(*out));
    out->change = (struct change){.index = (size_t)at,
                                  .earliest = (size_t)earliest,
                                  .latest = (size_t)latest,
                                  .before = row_real(row, 3),
                                  .after = row_real(row, 4),
                                  .size = {row_real(row, 5), row_real(row, 6), row_real(row, 7)},
                                  .evidence = row_real(row, 8)};
    out->at.time_s = row_int(row, 10);
    out->earliest.time_s = row_int(row, 12);
    out->latest.time_s = row_int(row, 14);
    out->commits = (size_t)row_int(row, 15);
    out->code_changed = row_int(row, 16) != 0;
    out->model_changed = row_int(row, 17) != 0;
    out->attribution = (enum attribution)attribution;
    out->what = row_null(row, 19) ? NULL : row_text(row, 19, arena);
    out->held = row_text(row, 20, arena);
    bool sound = earliest >= 0 && earliest <= at && at <= latest && latest < (int64_t)of->points &&
                 attribution >= 0 && attribution < ATTRIBUTIONS &&
                 row_copy(out->at.id, sizeof(out->at.id), row, 9) &&
                 row_copy(out->earliest.id, sizeof(out->earliest.id), row, 11) &&
                 row_copy(out->latest.id, sizeof(out->latest.id), row, 13);
    return sound ? 0 : store_damaged(list->store, "a change that was kept", err);
}

static int read_changes(struct judgement *out, struct store *store, int64_t key,
                        struct arena *arena, struct error *err)
{
    struct row_list list = {.store = store,
                            .row = statement_bind(store, SQL_LOAD_CHANGES, CELLS(INT(key))),
                            .arena = arena,
                            .given = out};
    if (statement_list(&list, sizeof(*out->changes), read_change, err))
        return -1;
    out->changes = list.items;
    out->change_count = list.count;
    return 0;
}

static int read_break(void *item, const struct row_list *list, struct error *err)
{
    const struct judgement *of = list->given;
    struct history_break *b = item;
    sqlite3_stmt *row = list->row;
    memset(b, 0, sizeof(*b));
    b->index = (size_t)row_int(row, 0);
    b->at.time_s = row_int(row, 2);
    b->what = row_text(row, 3, list->arena);
    b->model = row_int(row, 4) != 0;
    if (!row_copy(b->at.id, sizeof(b->at.id), row, 1) || b->index >= of->points)
        return store_damaged(list->store, "a break that was kept", err);
    return 0;
}

static int read_breaks(struct judgement *out, struct store *store, int64_t key, struct arena *arena,
                       struct error *err)
{
    struct row_list list = {.store = store,
                            .row = statement_bind(store, SQL_LOAD_BREAKS, CELLS(INT(key))),
                            .arena = arena,
                            .given = out};
    if (statement_list(&list, sizeof(*out->breaks), read_break, err))
        return -1;
    out->breaks = list.items;
    out->break_count = list.count;
    return 0;
}

static int read_judgement(struct judgement *out, struct store *store, sqlite3_stmt *row,
                          struct error *err)
{
    int64_t points = row_int(row, 4), settled = row_int(row, 5);
    *out = (struct judgement){
        .marks = row_int(row, 1),
        .changed = !row_null(row, 2),
        .changed_s = row_int(row, 2),
        .newest_key = row_int(row, 3),
        .points = (size_t)points,
        .settled = (size_t)settled,
        .settled_s = row_int(row, 6),
        .settled_key = row_int(row, 19),
        .context_s = row_int(row, 20),
        .settled_marks = row_int(row, 21),
        .against_model = row_int(row, 7) != 0,
        .common_mode = row_int(row, 8) != 0,
        .drift = row_int(row, 9) != 0,
        .sigma = row_real(row, 10),
        .correlation = row_real(row, 11),
        .since = row_null(row, 12) ? SIZE_MAX : (size_t)row_int(row, 12),
        .level = row_real(row, 13),
        .level_se = row_real(row, 14),
        .creep = {.moved = row_int(row, 15) != 0,
                  .size = {row_real(row, 16), row_real(row, 17), row_real(row, 18)}},
        .told = {.creeps = !row_null(row, 22),
                 .creep = {row_real(row, 22), row_real(row, 23), row_real(row, 24)},
                 .pattern = {(size_t)row_int(row, 25), row_real(row, 26)}}};
    bool sound = row_copy(out->maker, sizeof(out->maker), row, 0) && settled >= 0 &&
                 points >= settled && (out->since == SIZE_MAX || out->since <= out->points);
    return sound ? 0 : store_damaged(store, "a judgement that was kept", err);
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
    if (status > 0)
        status = read_judgement(&found, store, row, err);
    sqlite3_reset(row);
    if (status == 0 && found.maker[0])
        status = read_changes(&found, store, key, arena, err);
    if (status == 0 && found.maker[0])
        status = read_breaks(&found, store, key, arena, err);
    if (status == 0)
        *out = found;
    return status;
}

static int read_chart_point(void *item, const struct row_list *list, struct error *err)
{
    struct chart_point *p = item;
    sqlite3_stmt *row = list->row;
    double predicted_ns = row_real(row, 4);
    *p = (struct chart_point){.index = (size_t)row_int(row, 0),
                              .time_s = row_int(row, 2),
                              .time_ns = row_real(row, 3),
                              .predicted_ns = predicted_ns > 0 ? predicted_ns : 0,
                              .half_ns = row_real(row, 5)};
    if (!row_copy(p->commit, sizeof(p->commit), row, 1) || (list->count && p->index <= p[-1].index))
        return store_damaged(list->store, "a point of a chart", err);
    return 0;
}

int store_load_chart(struct chart_point **out, size_t *count, struct store *store,
                     const struct series *series, struct arena *arena, struct error *err)
{
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    struct row_list list = {.store = store,
                            .row = statement_bind(store, SQL_LOAD_CHART, CELLS(INT(key))),
                            .arena = arena};
    if (statement_list(&list, sizeof(**out), read_chart_point, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}

// ---- writing ----

static struct cell real_or_null(double value)
{
    return isfinite(value) ? REAL(value) : NOTHING;
}

static int put_changes(struct store *store, int64_t key, const struct judgement *j,
                       struct error *err)
{
    if (statement_run(store, err, SQL_DROP_CHANGES, CELLS(INT(key))))
        return -1;
    for (size_t i = 0; i < j->change_count; i++) {
        const struct history_change *c = &j->changes[i];
        const struct change *d = &c->change;
        if (statement_run(store, err, SQL_ADD_CHANGE,
                          CELLS(INT(key), INT(i), INT(d->index), INT(d->earliest), INT(d->latest),
                                REAL(d->before), REAL(d->after), REAL(d->size.value),
                                real_or_null(d->size.low), real_or_null(d->size.high),
                                REAL(d->evidence), TEXT(c->at.id), INT(c->at.time_s),
                                TEXT(c->earliest.id), INT(c->earliest.time_s), TEXT(c->latest.id),
                                INT(c->latest.time_s), INT(c->commits), INT(c->code_changed),
                                INT(c->model_changed), INT(c->attribution),
                                c->what ? TEXT(c->what) : NOTHING, TEXT(c->held))))
            return -1;
    }
    return 0;
}

static int put_breaks(struct store *store, int64_t key, const struct judgement *j,
                      struct error *err)
{
    if (statement_run(store, err, SQL_DROP_BREAKS, CELLS(INT(key))))
        return -1;
    for (size_t i = 0; i < j->break_count; i++) {
        const struct history_break *b = &j->breaks[i];
        if (statement_run(store, err, SQL_ADD_BREAK,
                          CELLS(INT(key), INT(i), INT(b->index), TEXT(b->at.id), INT(b->at.time_s),
                                TEXT(b->what), INT(b->model))))
            return -1;
    }
    return 0;
}

static int put_chart(struct store *store, int64_t key, const struct chart_point *chart,
                     size_t count, struct error *err)
{
    if (count == 0)
        return 0;
    if (statement_run(store, err, SQL_DROP_CHART, CELLS(INT(key))))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct chart_point *p = &chart[i];
        if (statement_run(store, err, SQL_ADD_CHART_POINT,
                          CELLS(INT(key), INT(p->index), TEXT(p->commit), INT(p->time_s),
                                REAL(p->time_ns),
                                p->predicted_ns > 0 ? REAL(p->predicted_ns) : NOTHING,
                                real_or_null(p->half_ns))))
            return -1;
    }
    return 0;
}

static int put_judgement(struct store *store, int64_t key, const struct judgement *j,
                         struct error *err)
{
    return statement_run(
        store, err, SQL_PUT_JUDGEMENT,
        CELLS(INT(key), TEXT(j->maker), INT(j->marks), INT(j->newest_key), INT(j->points),
              INT(j->settled), INT(j->settled_s), INT(j->against_model), INT(j->common_mode),
              INT(j->drift), real_or_null(j->sigma), real_or_null(j->correlation),
              j->since == SIZE_MAX ? NOTHING : INT(j->since), real_or_null(j->level),
              real_or_null(j->level_se), INT(j->creep.moved), real_or_null(j->creep.size.value),
              real_or_null(j->creep.size.low), real_or_null(j->creep.size.high),
              INT(j->settled_key), INT(j->context_s), INT(j->settled_marks),
              j->told.creeps ? REAL(j->told.creep.value) : NOTHING,
              j->told.creeps ? real_or_null(j->told.creep.low) : NOTHING,
              j->told.creeps ? real_or_null(j->told.creep.high) : NOTHING,
              INT(j->told.pattern.period),
              j->told.pattern.period ? REAL(j->told.pattern.swing) : NOTHING));
}

int store_save_judgement(struct store *store, const struct series *series,
                         const struct judgement *judgement, const struct chart_point *chart,
                         size_t chart_count, struct error *err)
{
    int64_t key;
    if (content_find_series(&key, store, series, err) || transaction_begin(store, err))
        return -1;
    int status = put_judgement(store, key, judgement, err);
    if (status == 0)
        status = put_changes(store, key, judgement, err);
    if (status == 0)
        status = put_breaks(store, key, judgement, err);
    if (status == 0)
        status = put_chart(store, key, chart, chart_count, err);
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
        // A damaged blob is store_check()'s to report: here it only has no interval.
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
