// SPDX-License-Identifier: Apache-2.0
//
// What was judged of a series' history, kept and read back, so that only what is new is judged. It
// is a cache: it can be thrown away and made again from the samples.
#include "baselines/content.h"
#include "baselines/kept/judgement.h"
#include "baselines/pack.h"
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
    out->newest = row_int(row, 20) != 0;
    out->held = row_text(row, 21, arena);
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
                  .size = {row_real(row, 16), row_real(row, 17), row_real(row, 18)}}};
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
                                c->what ? TEXT(c->what) : NOTHING, INT(c->newest), TEXT(c->held))))
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
              INT(j->settled_key), INT(j->context_s), INT(j->settled_marks)));
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
