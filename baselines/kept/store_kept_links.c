// SPDX-License-Identifier: Apache-2.0
//
// Keeping what links said. It is a cache: it can be thrown away and made again from the links.
#include "baselines/content.h"
#include "baselines/kept/kept_links.h"

int store_newest_link(int64_t *out, struct store *store, const struct series *series,
                      struct error *err)
{
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    return statement_get(out, store, err, SQL_NEWEST_LINK, CELLS(INT(key)));
}

static int load(struct kept_links *out, const void **bytes, size_t *size, enum statement which,
                struct store *store, const struct series *series, struct arena *arena,
                struct error *err)
{
    int64_t key;
    *out = (struct kept_links){0};
    if (content_find_series(&key, store, series, err))
        return -1;
    sqlite3_stmt *row = statement_bind(store, which, CELLS(INT(key)));
    const int status = statement_step(store, row, err);
    if (status <= 0)
        return status;
    const bool sound = row_copy(out->maker, sizeof(out->maker), row, 0);
    const void *there = sqlite3_column_blob(row, 2);
    out->newest_link = row_int(row, 1);
    *size = (size_t)sqlite3_column_bytes(row, 2);
    *bytes = arena_copy(arena, there, *size);
    sqlite3_reset(row);
    return sound ? 0 : store_damaged(store, "links that were kept", err);
}

int store_load_kept_links(struct kept_links *out, struct store *store, const struct series *series,
                          struct arena *arena, struct error *err)
{
    return load(out, &out->found, &out->size, SQL_LOAD_KEPT_LINKS, store, series, arena, err);
}

int store_load_kept_levels(struct kept_links *out, struct store *store, const struct series *series,
                           struct arena *arena, struct error *err)
{
    return load(out, &out->levels, &out->levels_size, SQL_LOAD_KEPT_LEVELS, store, series, arena,
                err);
}

int store_load_settled(struct kept_settled *out, struct store *store, const struct series *series,
                       struct arena *arena, struct error *err)
{
    int64_t key;
    *out = (struct kept_settled){0};
    if (content_find_series(&key, store, series, err))
        return -1;
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_SETTLED, CELLS(INT(key)));
    const int status = statement_step(store, row, err);
    if (status <= 0)
        return status;
    const bool sound = row_copy(out->maker, sizeof(out->maker), row, 0);
    const void *there = sqlite3_column_blob(row, 1);
    out->size = (size_t)sqlite3_column_bytes(row, 1);
    out->settled = arena_copy(arena, there, out->size);
    sqlite3_reset(row);
    return sound ? 0 : store_damaged(store, "links that were settled", err);
}

static int read_stretch(void *item, const struct row_list *list, struct error *err)
{
    struct kept_stretch *out = item;
    (void)err;
    const void *there = sqlite3_column_blob(list->row, 1);
    *out = (struct kept_stretch){.number = (size_t)row_int(list->row, 0),
                                 .size = (size_t)sqlite3_column_bytes(list->row, 1)};
    out->levels = arena_copy(list->arena, there, out->size);
    return 0;
}

int store_load_stretches(struct kept_stretch **out, size_t *count, struct store *store,
                         const struct series *series, struct arena *arena, struct error *err)
{
    struct row_list list = {.store = store, .arena = arena};
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    list.row = statement_bind(store, SQL_LOAD_STRETCHES, CELLS(INT(key)));
    if (statement_list(&list, sizeof(**out), read_stretch, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}

static int save_settled(struct store *store, int64_t key, const struct kept_links *kept,
                        struct error *err)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < kept->stretch_count; i++) {
        const struct kept_stretch *s = &kept->stretches[i];
        status = statement_run(store, err, SQL_PUT_STRETCH,
                               CELLS(INT(key), INT(s->number), BLOB(s->levels, s->size)));
    }
    if (status == 0 && kept->settled.size)
        status = statement_run(store, err, SQL_PUT_SETTLED,
                               CELLS(INT(key), TEXT(kept->settled.maker),
                                     BLOB(kept->settled.settled, kept->settled.size)));
    return status;
}

int store_save_kept_links(struct store *store, const struct series *series,
                          const struct kept_links *kept, struct error *err)
{
    int64_t key;
    if (transaction_begin(store, err))
        return -1;
    int status = content_find_series(&key, store, series, err);
    if (status == 0)
        status = statement_run(store, err, SQL_PUT_KEPT_LINKS,
                               CELLS(INT(key), TEXT(kept->maker), INT(kept->newest_link),
                                     BLOB(kept->found, kept->size),
                                     BLOB(kept->levels, kept->levels_size)));
    if (status == 0)
        status = save_settled(store, key, kept, err);
    return transaction_end(store, status, err);
}
