// SPDX-License-Identifier: Apache-2.0
//
// Links as levelling takes them: numbers and keys, out of one index, and the commits they name.
#include "baselines/content.h"
#include "baselines/link.h"

static int read_fact(void *item, const struct row_list *list, struct error *err)
{
    sqlite3_stmt *row = list->row;
    struct link_fact *out = item;
    const char *kind = (const char *)sqlite3_column_text(row, 7);
    const struct link_fact f = {.key = row_int(row, 0),
                                .base_code = row_int(row, 1),
                                .head_code = row_int(row, 2),
                                .base = row_int(row, 3),
                                .head = row_int(row, 4),
                                .made_s = row_int(row, 5),
                                .back = (uint32_t)row_int(row, 6),
                                .log_ratio = row_real(row, 8),
                                .error = row_real(row, 9),
                                .log_evidence = row_real(row, 10)};
    *out = f;
    if (!kind || verdict_kind_parse(&out->kind, kind) || f.base_code == f.head_code ||
        f.base == f.head || !link_figures_sound(f.log_ratio, f.error, f.log_evidence))
        return store_damaged(list->store, "a link", err);
    return 0;
}

int store_link_facts(struct link_fact **out, size_t *count, struct store *store,
                     const struct series *series, int64_t from, struct arena *arena,
                     struct error *err)
{
    struct row_list list = {.store = store, .arena = arena};
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    list.row = statement_bind(store, SQL_LINK_FACTS, CELLS(INT(key), INT(from)));
    if (statement_list(&list, sizeof(**out), read_fact, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}

static int read_place(void *item, const struct row_list *list, struct error *err)
{
    sqlite3_stmt *row = list->row;
    struct commit_place *p = item;
    *p = (struct commit_place){
        .key = row_int(row, 0), .time_s = row_int(row, 2), .order_s = row_int(row, 3)};
    return row_copy(p->id, sizeof(p->id), row, 1)
               ? 0
               : store_damaged(list->store, "a commit's id", err);
}

static int read_line_run(void *item, const struct row_list *list, struct error *err)
{
    struct line_run *r = item;
    (void)err;
    *r = (struct line_run){row_int(list->row, 0), row_int(list->row, 1)};
    return 0;
}

int store_commit_places(struct commit_places *out, struct store *store, struct arena *arena,
                        struct error *err)
{
    struct row_list list = {.store = store, .arena = arena};
    if (out->read)
        return 0;
    struct row_list runs = list;
    list.row = statement_bind(store, SQL_COMMIT_PLACES, NULL, 0);
    if (statement_list(&list, sizeof(*out->items), read_place, err))
        return -1;
    runs.row = statement_bind(store, SQL_LINE_RUNS, CELLS(INT(LINE_RUNS_MOST)));
    if (statement_list(&runs, sizeof(*out->runs), read_line_run, err))
        return -1;
    *out = (struct commit_places){list.items, list.count, runs.items, runs.count, true};
    return 0;
}

int store_run_code(int64_t *out, struct store *store, int64_t run, const struct series *series,
                   struct error *err)
{
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    sqlite3_stmt *row = statement_bind(store, SQL_RUN_CODE, CELLS(INT(run), INT(key)));
    const int status = statement_step(store, row, err);
    *out = status > 0 ? row_int(row, 0) : 0;
    sqlite3_reset(row);
    return status < 0 ? -1 : 0;
}

int store_had_base(bool *out, struct store *store, int64_t link, const char *commit,
                   struct error *err)
{
    int64_t count;
    if (statement_get(&count, store, err, SQL_HAD_BASE, CELLS(INT(link), TEXT(commit))))
        return -1;
    *out = count > 0;
    return 0;
}

// Keys are handed out one after the other, so a commit mostly stands where its key says.
const struct commit_place *commit_place_find(const struct commit_places *places, int64_t key)
{
    size_t low = 0, high = places->count;
    if (key >= 1 && (uint64_t)key <= places->count && places->items[key - 1].key == key)
        return &places->items[key - 1];
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (places->items[middle].key == key)
            return &places->items[middle];
        *(places->items[middle].key < key ? &low : &high) =
            places->items[middle].key < key ? middle + 1 : middle;
    }
    return NULL;
}
