// SPDX-License-Identifier: Apache-2.0
//
// History out of the store: the points of a series over its commits, and which series and devices
// there are. It reads times and judges none.
#include "baselines/content.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct growing {
    struct history_point *points;
    int64_t *codes; // for same_code
    size_t used, room;
};

static void grow(struct growing *g)
{
    if (g->used < g->room)
        return;
    g->room = g->room ? 2 * g->room : 256;
    g->points = xrealloc(g->points, g->room, sizeof(*g->points));
    g->codes = xrealloc(g->codes, g->room, sizeof(*g->codes));
}

static double known(double value)
{
    return value > 0 && isfinite(value) ? value : 0;
}

static int collect(struct growing *g, struct store *store, sqlite3_stmt *row, struct error *err)
{
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        grow(g);
        struct history_point *p = &g->points[g->used];
        *p = (struct history_point){.time_s = row_int(row, 1),
                                    .time_ns = row_real(row, 2),
                                    .clock_hz = known(row_real(row, 3)),
                                    .predicted_ns = known(row_real(row, 5))};
        if (!row_copy(p->commit, sizeof(p->commit), row, 0) || known(p->time_ns) == 0) {
            sqlite3_reset(row);
            return store_damaged(store, "a measurement's time or commit", err);
        }
        g->codes[g->used++] = row_int(row, 4);
    }
    return status;
}

// Rows come newest first, so that LIMIT keeps the newest; a history is read oldest first.
static void give(struct history *out, const struct growing *g, struct arena *arena)
{
    out->points = arena_alloc(arena, g->used * sizeof(*g->points));
    out->count = g->used;
    for (size_t i = 0; i < g->used; i++) {
        size_t from = g->used - 1 - i;
        out->points[i] = g->points[from];
        out->points[i].same_code =
            from + 1 < g->used && g->codes[from] && g->codes[from] == g->codes[from + 1];
    }
}

int store_history(struct history *out, struct store *store, const struct series *series,
                  const struct history_query *query, struct arena *arena, struct error *err)
{
    struct growing g = {0};
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    sqlite3_stmt *row = statement_bind(
        store, query->comparisons ? SQL_HISTORY_ALL : SQL_HISTORY,
        CELLS(INT(key), INT(query->until_s ? query->until_s : INT64_MAX), INT(query->except_run),
              INT(query->limit ? (int64_t)query->limit : -1)));
    int status = collect(&g, store, row, err);
    if (status == 0)
        give(out, &g, arena);
    free(g.points);
    free(g.codes);
    return status;
}

int store_scale(struct pair_scale **out, size_t *count, struct store *store,
                const struct series *series, size_t limit, int64_t except_run, struct arena *arena,
                struct error *err)
{
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    struct pair_scale *scales = arena_alloc(arena, limit * sizeof(*scales));
    size_t used = 0;
    sqlite3_stmt *row =
        statement_bind(store, SQL_SCALE, CELLS(INT(key), INT(except_run), INT(limit)));
    int status;
    while ((status = statement_step(store, row, err)) > 0 && used < limit) {
        scales[used++] =
            (struct pair_scale){row_int(row, 0), (uint32_t)row_int(row, 1), known(row_real(row, 2)),
                                known(row_real(row, 3)), row_int(row, 4) != 0};
    }
    if (status < 0)
        return -1;
    sqlite3_reset(row);
    *out = scales;
    *count = used;
    return 0;
}

static int read_series(struct series_entry *out, struct store *store, sqlite3_stmt *row,
                       struct arena *arena, struct error *err)
{
    struct error ignored;
    const char *problem = (const char *)sqlite3_column_text(row, 1);
    if (!row_copy(out->kernel, sizeof(out->kernel), row, 0) || !problem ||
        problem_parse(&out->problem, problem, &ignored))
        return store_damaged(store, "a series", err);
    out->device_uuid = row_text(row, 2, arena);
    out->device_name = row_text(row, 3, arena);
    out->control = row_int(row, 4) != 0;
    out->key = row_int(row, 5);
    return 0;
}

int store_list_series(struct series_entry **out, size_t *count, struct store *store,
                      struct arena *arena, struct error *err)
{
    int64_t room;
    if (statement_get(&room, store, err, SQL_COUNT_SERIES, NULL, 0))
        return -1;
    struct series_entry *entries = arena_alloc(arena, (size_t)room * sizeof(*entries));
    size_t used = 0;
    sqlite3_stmt *row = statement_bind(store, SQL_LIST_SERIES, NULL, 0);
    int status;
    while ((status = statement_step(store, row, err)) > 0 && used < (size_t)room) {
        if (read_series(&entries[used++], store, row, arena, err)) {
            sqlite3_reset(row);
            return -1;
        }
    }
    if (status < 0)
        return -1;
    sqlite3_reset(row);
    *out = entries;
    *count = used;
    return 0;
}

int store_list_devices(struct device_entry **out, size_t *count, struct store *store,
                       struct arena *arena, struct error *err)
{
    struct device_entry *all = NULL;
    size_t used = 0, room = 0;
    sqlite3_stmt *row = statement_bind(store, SQL_LIST_DEVICES, NULL, 0);
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        all = xgrow(all, used, &room, sizeof(*all));
        all[used++] =
            (struct device_entry){row_text(row, 0, arena), row_text(row, 1, arena),
                                  row_text(row, 2, arena), row_int(row, 3), row_int(row, 4)};
    }
    sqlite3_reset(row);
    if (status == 0) {
        *out = arena_alloc(arena, used * sizeof(*all));
        if (used)
            memcpy(*out, all, used * sizeof(*all));
        *count = used;
    }
    free(all);
    return status;
}
