// SPDX-License-Identifier: Apache-2.0
//
// Keeping what links said. It is a cache: it can be thrown away and made again from the links.
#include "baselines/kept_links.h"

#include "baselines/fields.h"
#include "baselines/rows.h"
#include "baselines/store.h"

// ---- links as a stream of tests, and what is kept of it ----

static int read_evidence(void *item, const struct row_list *list, struct error *err)
{
    sqlite3_stmt *row = list->row;
    struct link_evidence *l = item;
    *l = (struct link_evidence){.series = row_int(row, 0),
                                .base_code = row_int(row, 1),
                                .head_code = row_int(row, 2),
                                .log_evidence = row_real(row, 4),
                                .made_s = row_int(row, 5),
                                .key = row_int(row, 6)};
    return row_copy(l->uid, sizeof(l->uid), row, 3) ? 0 : store_damaged(list->store, "a link", err);
}

int store_link_evidence(struct link_evidence **out, size_t *count, struct store *store,
                        int64_t after, int64_t newest, struct arena *arena, struct error *err)
{
    struct row_list list = {
        .store = store,
        .row = statement_bind(store, SQL_LINK_EVIDENCE, CELLS(INT(after), INT(newest))),
        .arena = arena};
    if (statement_list(&list, sizeof(**out), read_evidence, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}

int store_earlier_evidence(double *out, struct store *store, const struct link_evidence *link,
                           int64_t newest, struct error *err)
{
    sqlite3_stmt *row = statement_bind(
        store, SQL_EARLIER_EVIDENCE,
        CELLS(INT(link->series), INT(link->base_code), INT(link->head_code), INT(newest)));
    const int status = statement_step(store, row, err);
    *out = status > 0 ? row_real(row, 0) : 0;
    sqlite3_reset(row);
    return status < 0 ? -1 : 0;
}

int store_newest_of_links(int64_t *link, int64_t *code, struct store *store, struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_NEWEST_OF_LINKS, NULL, 0);
    const int status = statement_step(store, row, err);
    *link = status > 0 ? row_int(row, 0) : 0;
    *code = status > 0 ? row_int(row, 1) : 0;
    sqlite3_reset(row);
    return status < 0 ? -1 : 0;
}

static int load_stream(struct kept_tests *out, struct store *store, struct error *err)
{
    *out = (struct kept_tests){0};
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_TEST_STREAM, NULL, 0);
    const int status = statement_step(store, row, err);
    if (status <= 0)
        return status;
    out->newest_link = row_int(row, 1);
    out->newest_code = row_int(row, 2);
    out->made_s = row_int(row, 3);
    out->series = row_int(row, 5);
    out->tests = (uint64_t)row_int(row, 6);
    out->found = (uint64_t)row_int(row, 7);
    const bool sound = row_copy(out->maker, sizeof(out->maker), row, 0) &&
                       row_copy(out->uid, sizeof(out->uid), row, 4);
    sqlite3_reset(row);
    return sound ? 0 : store_damaged(store, "tests that were kept", err);
}

static int read_test(void *item, const struct row_list *list, struct error *err)
{
    struct kept_test *t = item;
    (void)err;
    *t = (struct kept_test){row_int(list->row, 0), row_real(list->row, 1),
                            row_int(list->row, 2) != 0};
    return 0;
}

int store_load_kept_tests(struct kept_tests *out, struct store *store, struct arena *arena,
                          struct error *err)
{
    const int status = load_stream(out, store, err);
    if (status || !out->maker[0])
        return status;
    struct row_list list = {
        .store = store, .row = statement_bind(store, SQL_LOAD_LINK_TESTS, NULL, 0), .arena = arena};
    if (statement_list(&list, sizeof(*out->items), read_test, err))
        return -1;
    out->items = list.items;
    out->count = list.count;
    return 0;
}

int store_save_kept_tests(struct store *store, const struct kept_tests *tests, size_t first,
                          struct error *err)
{
    int status = 0;
    if (transaction_begin(store, err))
        return -1;
    if (first == 0)
        status = statement_run(store, err, SQL_FORGET_LINK_TESTS, NULL, 0);
    for (size_t i = first; status == 0 && i < tests->count; i++) {
        const struct kept_test *t = &tests->items[i];
        status = statement_run(store, err, SQL_ADD_LINK_TEST,
                               CELLS(INT(t->link), REAL(t->log_evidence), INT(t->discovered)));
    }
    if (status == 0)
        status = statement_run(store, err, SQL_PUT_TEST_STREAM,
                               CELLS(TEXT(tests->maker), INT(tests->newest_link),
                                     INT(tests->newest_code), INT(tests->made_s), TEXT(tests->uid),
                                     INT(tests->series), INT((int64_t)tests->tests),
                                     INT((int64_t)tests->found)));
    return transaction_end(store, status, err);
}

int store_newest_link(int64_t *out, struct store *store, const struct series *series,
                      struct error *err)
{
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    return statement_get(out, store, err, SQL_NEWEST_LINK, CELLS(INT(key)));
}

// ---- what they said of the series ----

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
