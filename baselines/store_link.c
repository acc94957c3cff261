// SPDX-License-Identifier: Apache-2.0
//
// Saves links once, and checks them when they are read, as if a stranger had written them.

#include "baselines/fields.h"
#include "baselines/store.h"
#include "model/buffer.h"

#include <math.h>
#include <string.h>

#define F(...) FIELD_ITEM(link, __VA_ARGS__)
STORED_FIELDS(link, "links", LINK_FIELDS(F));
#undef F

bool link_sound(const struct link *l)
{
    const bool judged = l->kind == VERDICT_SAME || l->kind == VERDICT_SLOWER ||
                        l->kind == VERDICT_FASTER || l->kind == VERDICT_UNDECIDED;
    return judged && strlen(l->uid) == STORE_UID_TEXT - 1 &&
           strspn(l->uid, "0123456789abcdef") == STORE_UID_TEXT - 1 && l->base_code[0] &&
           l->head_code[0] && strcmp(l->base_code, l->head_code) != 0 && l->base.id[0] &&
           l->head.id[0] && strcmp(l->base.id, l->head.id) != 0 && l->made_s > 0 &&
           fields_sound(&link_fields, l);
}

static int save(struct store *store, const struct series *series, const struct link *l,
                struct error *err)
{
    int64_t kernel, key, base_code, head_code, base, head;
    if (content_kernel(&kernel, store, series->kernel, err) ||
        content_series(&key, store, series, kernel, err) ||
        content_code(&base_code, store, kernel, l->base_code, NULL, err) ||
        content_code(&head_code, store, kernel, l->head_code, NULL, err) ||
        content_commit(&base, store, &l->base, err) || content_commit(&head, store, &l->head, err))
        return -1;
    return fields_run(
        store, SQL_ADD_LINK,
        CELLS(TEXT(l->uid), INT(key), INT(base_code), INT(head_code), INT(base), INT(head)),
        &link_fields, l, err);
}

int store_save_link(struct store *store, const struct series *series, const struct link *link,
                    struct error *err)
{
    if (!link_sound(link))
        return error_set(err, "store %s: refused a link of %s that cannot be one", store->path,
                         series->kernel);
    if (transaction_begin(store, err))
        return -1;
    return transaction_end(store, save(store, series, link, err), err);
}

int store_run_uid(char out[STORE_UID_TEXT], struct store *store, int64_t run_id, struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_RUN_UID, CELLS(INT(run_id)));
    const int status = statement_step(store, row, err);
    if (status <= 0)
        return status < 0 ? -1 : store_damaged(store, "a run is missing", err);
    const bool fits = row_copy(out, STORE_UID_TEXT, row, 0);
    sqlite3_reset(row);
    return fits ? 0 : store_damaged(store, "a run's uid", err);
}

static int read_link(void *item, const struct row_list *list, struct error *err)
{
    sqlite3_stmt *row = list->row;
    struct link l = {0};
    const bool sound = row_copy(l.uid, sizeof(l.uid), row, 0) &&
                       row_copy(l.base_code, sizeof(l.base_code), row, 1) &&
                       row_copy(l.head_code, sizeof(l.head_code), row, 2);
    if (content_load_commit(&l.base, list->store, row_int(row, 3), list->arena, err) ||
        content_load_commit(&l.head, list->store, row_int(row, 4), list->arena, err) ||
        fields_load(&l, &link_fields, list->store, row, 5, list->arena, err))
        return -1;
    if (!sound || !link_sound(&l))
        return store_damaged(list->store, "a link", err);
    *(struct link *)item = l;
    return 0;
}

static int read_links(struct link **out, size_t *count, struct store *store, sqlite3_stmt *rows,
                      struct arena *arena, struct error *err)
{
    struct row_list list = {.store = store, .row = rows, .arena = arena};
    if (statement_list(&list, sizeof(**out), read_link, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}

int store_links(struct link **out, size_t *count, struct store *store, const struct series *series,
                struct arena *arena, struct error *err)
{
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    return read_links(out, count, store, statement_bind(store, SQL_LOAD_LINKS, CELLS(INT(key))),
                      arena, err);
}

int store_links_beyond(struct link **out, size_t *count, struct store *store, int64_t after,
                       struct arena *arena, struct error *err)
{
    return read_links(out, count, store,
                      statement_bind(store, SQL_LOAD_LINKS_BEYOND, CELLS(INT(after))), arena, err);
}

// ---- links in the form that levelling needs: numbers and keys from one index, and their commits
// ----

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
    const struct link like = {.tool_version = "",
                              .made_s = f.made_s,
                              .back = f.back,
                              .log_ratio = f.log_ratio,
                              .error = f.error,
                              .log_evidence = f.log_evidence,
                              .pairs = 1,
                              .processes = 1};
    *out = f;
    if (!kind || verdict_kind_parse(&out->kind, kind) || f.base_code == f.head_code ||
        f.base == f.head || !fields_sound(&link_fields, &like))
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

static int read_pair(void *item, const struct row_list *list, struct error *err)
{
    sqlite3_stmt *row = list->row;
    struct link_pair *p = item;
    *p = (struct link_pair){.series = row_int(row, 0),
                            .key = row_int(row, 1),
                            .base_code = row_int(row, 2),
                            .head_code = row_int(row, 3),
                            .log_ratio = row_real(row, 5),
                            .error = row_real(row, 6),
                            .pairs = (uint32_t)row_int(row, 7)};
    return verdict_kind_parse(&p->kind, row_text(row, 4, list->arena))
               ? store_damaged(list->store, "a link", err)
               : 0;
}

int store_newest_pairs(struct link_pair **out, size_t *count, struct store *store, size_t most,
                       struct arena *arena, struct error *err)
{
    struct row_list list = {.store = store, .arena = arena};
    list.row = statement_bind(store, SQL_NEWEST_PAIRS, CELLS(INT((int64_t)most)));
    if (statement_list(&list, sizeof(**out), read_pair, err))
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
    *out = (struct commit_places){list.items, list.count, runs.items, runs.count, true, false};
    return 0;
}

int store_commit_order(int64_t *out, struct store *store, const struct commit *commit,
                       struct error *err)
{
    return statement_get(out, store, err, SQL_COMMIT_ORDER,
                         CELLS(TEXT(commit->id), INT(commit->time_s)));
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

static int read_code_at(void *item, const struct row_list *list, struct error *err)
{
    struct code_at *c = item;
    (void)err;
    *c = (struct code_at){(size_t)row_int(list->row, 0), row_int(list->row, 1),
                          row_int(list->row, 2)};
    return 0;
}

int store_codes_at(struct code_at **out, size_t *count, struct store *store,
                   const struct commit *commits, size_t commit_count, struct arena *arena,
                   struct error *err)
{
    struct buffer text = {0};
    struct json json = {.out = &text};
    json_begin(&json, NULL, '[');
    for (size_t i = 0; i < commit_count; i++) {
        json_begin(&json, NULL, '[');
        json_text(&json, NULL, commits[i].id);
        json_text(&json, NULL, commits[i].tree);
        json_end(&json, ']');
    }
    json_end(&json, ']');
    struct row_list list = {.store = store,
                            .row = statement_bind(store, SQL_CODES_AT, CELLS(TEXT(text.bytes))),
                            .arena = arena};
    const int status = statement_list(&list, sizeof(**out), read_code_at, err);
    buffer_free(&text);
    *out = list.items;
    *count = 0;
    for (size_t i = 0; status == 0 && i < list.count; i++) { // of several builds, the newest counts
        const struct code_at *now = &(*out)[i], *last = *count ? &(*out)[*count - 1] : NULL;
        if (!last || last->at != now->at || last->kernel != now->kernel)
            (*out)[(*count)++] = *now;
    }
    return status;
}

int store_link_codes(int64_t *kernel, int64_t *base, int64_t *head, struct store *store,
                     int64_t link, struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LINK_CODES, CELLS(INT(link)));
    const int status = statement_step(store, row, err);
    if (status <= 0)
        return status < 0 ? -1 : store_damaged(store, "a link is missing", err);
    *kernel = row_int(row, 0);
    *base = row_int(row, 1);
    *head = row_int(row, 2);
    sqlite3_reset(row);
    return 0;
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

// Keys are assigned one after the other, so a commit mostly stands at the index that its key gives.
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
