// SPDX-License-Identifier: Apache-2.0
//
// Finding runs: the last, all, and one to go on with.
#include "baselines/content.h"
#include "baselines/run_lock.h"

#include <assert.h>
#include <stdlib.h>

static const char *device_uuid(const void *list, size_t index)
{
    return ((const struct device *)list)[index].uuid;
}

int store_find_unfinished(int64_t *run_id, bool *found, struct store *store, const struct run *like,
                          struct error *err)
{
    int64_t key = 0;
    bool mine = false;
    char *devices = content_json_list(like->device_count, device_uuid, like->devices);
    sqlite3_stmt *row = statement_bind(
        store, SQL_RUN_UNFINISHED,
        CELLS(TEXT(run_kind_name(like->kind)), TEXT(like->tool_version), TEXT(like->policy),
              TEXT(like->base.id), TEXT(like->head.id), TEXT(devices),
              TEXT(like->toolchain[ROLE_BASE]), TEXT(like->toolchain[ROLE_HEAD])));
    int status = 0;
    while (!mine && (status = statement_step(store, row, err)) > 0) {
        key = row_int(row, 0);
        mine = run_lock_claim(store, key);
    }
    sqlite3_reset(row);
    free(devices);
    if (status < 0)
        return -1;
    *found = mine;
    if (mine)
        *run_id = key;
    return 0;
}

static const char *kind_text(int kind)
{
    assert(kind >= 0 && kind <= STORE_ALL_RUNS);
    return kind == STORE_ALL_RUNS ? "" : run_kind_name((enum run_kind)kind);
}

int store_last_run(int64_t *run_id, struct store *store, int kind, struct error *err)
{
    return statement_get(run_id, store, err, SQL_LAST_RUN, CELLS(TEXT(kind_text(kind))));
}

int store_commit_run(int64_t *run_id, struct store *store, const char *commit,
                     const char *toolchain, struct error *err)
{
    return statement_get(run_id, store, err, SQL_COMMIT_RUN,
                         CELLS(TEXT(commit), TEXT(toolchain ? toolchain : "")));
}

static int read_entry(void *item, const struct row_list *list, struct error *err)
{
    struct run_entry *out = item;
    sqlite3_stmt *row = list->row;
    struct arena *arena = list->arena;
    const char *kind = (const char *)sqlite3_column_text(row, 2);
    int64_t conclusion = row_int(row, 7);
    out->id = row_int(row, 0);
    bool sound = row_copy(out->uid, sizeof(out->uid), row, 1) && kind &&
                 run_kind_parse(&out->kind, kind) == 0 &&
                 row_copy(out->base, sizeof(out->base), row, 5) &&
                 row_copy(out->head, sizeof(out->head), row, 6) && conclusion >= CONCLUDE_OK &&
                 conclusion <= CONCLUDE_FAILED;
    out->started_s = row_int(row, 3);
    out->finished_s = row_int(row, 4);
    out->conclusion = (enum conclusion)conclusion;
    out->headline = row_text(row, 8, arena);
    out->summary = row_text(row, 9, arena);
    out->author = row_text(row, 10, arena);
    out->head_s = row_int(row, 11);
    out->device_uuid = row_text(row, 12, arena);
    out->toolchain[ROLE_BASE] = row_text(row, 13, arena);
    out->toolchain[ROLE_HEAD] = row_text(row, 14, arena);
    return sound ? 0 : store_damaged(list->store, "a run", err);
}

int store_list_runs(struct run_entry **out, size_t *count, struct store *store, int kind,
                    size_t limit, struct arena *arena, struct error *err)
{
    const struct cell cells[] = {TEXT(kind_text(kind)), INT(limit ? (int64_t)limit : -1)};
    struct row_list list = {.store = store,
                            .row = statement_bind(store, SQL_LIST_RUNS, cells, ARRAY_COUNT(cells)),
                            .arena = arena};
    if (statement_list(&list, sizeof(**out), read_entry, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}

int store_run_times(struct run_time **out, size_t *count, struct store *store, int64_t run_id,
                    struct arena *arena, struct error *err)
{
    int64_t room;
    size_t used = 0;
    int status = 0;
    if (statement_get(&room, store, err, SQL_COUNT_RESULTS, CELLS(INT(run_id))))
        return -1;
    struct run_time *times = arena_alloc(arena, (size_t)room * sizeof(*times));
    sqlite3_stmt *row = statement_bind(store, SQL_RUN_TIMES, CELLS(INT(run_id)));
    while ((status = statement_step(store, row, err)) > 0 && used < (size_t)room)
        times[used++] = (struct run_time){row_int(row, 0), row_real(row, 1)};
    sqlite3_reset(row);
    if (status < 0)
        return -1;
    *out = times;
    *count = used;
    return 0;
}
