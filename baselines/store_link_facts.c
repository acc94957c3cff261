// SPDX-License-Identifier: Apache-2.0
//
// Links as levelling takes them: numbers and keys, out of one index, and the commits they name.
#include "baselines/content.h"
#include "baselines/link.h"

#include <math.h>
#include <stdlib.h>

static int read_fact(struct link_fact *out, struct store *store, sqlite3_stmt *row,
                     struct error *err)
{
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
        f.base == f.head || !(fabs(f.log_ratio) <= 50) || !(f.error >= 1e-6 && f.error <= 50) ||
        !(fabs(f.log_evidence) <= 1e9))
        return store_damaged(store, "a link", err);
    return 0;
}

int store_link_facts(struct link_fact **out, size_t *count, struct store *store,
                     const struct series *series, struct arena *arena, struct error *err)
{
    struct link_fact *found = NULL;
    size_t used = 0, room = 0;
    int64_t key;
    int status;
    if (content_find_series(&key, store, series, err))
        return -1;
    sqlite3_stmt *row = statement_bind(store, SQL_LINK_FACTS, CELLS(INT(key)));
    while ((status = statement_step(store, row, err)) > 0) {
        found = xgrow(found, used, &room, sizeof(*found));
        if ((status = read_fact(&found[used], store, row, err)))
            break;
        used++;
    }
    sqlite3_reset(row);
    if (status == 0) {
        *out = arena_copy(arena, found, used * sizeof(*found));
        *count = used;
    }
    free(found);
    return status < 0 ? -1 : 0;
}

int store_commit_places(struct commit_places *out, struct store *store, struct arena *arena,
                        struct error *err)
{
    struct commit_place *found = NULL;
    size_t used = 0, room = 0;
    int status;
    if (out->read)
        return 0;
    sqlite3_stmt *row = statement_bind(store, SQL_COMMIT_PLACES, NULL, 0);
    while ((status = statement_step(store, row, err)) > 0) {
        found = xgrow(found, used, &room, sizeof(*found));
        struct commit_place *p = &found[used++];
        *p = (struct commit_place){
            .key = row_int(row, 0), .time_s = row_int(row, 2), .order_s = row_int(row, 3)};
        if (!row_copy(p->id, sizeof(p->id), row, 1)) {
            status = store_damaged(store, "a commit's id", err);
            break;
        }
    }
    sqlite3_reset(row);
    if (status == 0)
        *out = (struct commit_places){arena_copy(arena, found, used * sizeof(*found)), used, true};
    free(found);
    return status < 0 ? -1 : 0;
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
