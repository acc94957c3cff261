// SPDX-License-Identifier: Apache-2.0
//
// Which series and devices there are, and how the pairs of past gates scattered. The points of a
// series are store_points.c's.
#include "baselines/content.h"

#include <math.h>

static double known(double value)
{
    return value > 0 && isfinite(value) ? value : 0;
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

static int read_series(void *item, const struct row_list *list, struct error *err)
{
    struct series_entry *out = item;
    sqlite3_stmt *row = list->row;
    struct error ignored;
    const char *problem = (const char *)sqlite3_column_text(row, 1);
    if (!row_copy(out->kernel, sizeof(out->kernel), row, 0) || !problem ||
        problem_parse(&out->problem, problem, &ignored))
        return store_damaged(list->store, "a series", err);
    out->device_uuid = row_text(row, 2, list->arena);
    out->device_name = row_text(row, 3, list->arena);
    out->control = row_int(row, 4) != 0;
    out->key = row_int(row, 5);
    return 0;
}

int store_list_series(struct series_entry **out, size_t *count, struct store *store,
                      struct arena *arena, struct error *err)
{
    struct row_list list = {
        .store = store, .row = statement_bind(store, SQL_LIST_SERIES, NULL, 0), .arena = arena};
    if (statement_list(&list, sizeof(**out), read_series, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}

static int read_device(void *item, const struct row_list *list, struct error *err)
{
    sqlite3_stmt *row = list->row;
    struct arena *arena = list->arena;
    (void)err;
    *(struct device_entry *)item =
        (struct device_entry){row_text(row, 0, arena), row_text(row, 1, arena),
                              row_text(row, 2, arena), row_int(row, 3), row_int(row, 4)};
    return 0;
}

int store_list_devices(struct device_entry **out, size_t *count, struct store *store,
                       struct arena *arena, struct error *err)
{
    struct row_list list = {
        .store = store, .row = statement_bind(store, SQL_LIST_DEVICES, NULL, 0), .arena = arena};
    if (statement_list(&list, sizeof(**out), read_device, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}
