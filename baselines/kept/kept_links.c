// SPDX-License-Identifier: Apache-2.0
//
// Keeping what links said. It is a cache: it can be thrown away and made again from the links.
#include "baselines/kept/kept_links.h"

#include "baselines/content.h"
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

static bool read_commit(struct history_commit *out, sqlite3_stmt *row, int column)
{
    out->time_s = row_int(row, column + 1);
    return row_null(row, column) || row_copy(out->id, sizeof(out->id), row, column);
}

static struct interval read_interval(sqlite3_stmt *row, int column)
{
    return (struct interval){row_real(row, column), row_real(row, column + 1),
                             row_real(row, column + 2)};
}

static int read_change(void *item, const struct row_list *list, struct error *err)
{
    struct linked_change *c = item;
    sqlite3_stmt *row = list->row;
    *c = (struct linked_change){.link = row_int(row, 0),
                                .size = read_interval(row, 1),
                                .evidence = row_real(row, 4),
                                .misfit = row_int(row, 5) != 0,
                                .sure = row_int(row, 6) != 0,
                                .back = row_int(row, 7) != 0,
                                .filled = row_int(row, 8) != 0,
                                .left = row_real(row, 9)};
    return read_commit(&c->at, row, 10) && read_commit(&c->base, row, 12)
               ? 0
               : store_damaged(list->store, "a link's change", err);
}

static int read_misfit(void *item, const struct row_list *list, struct error *err)
{
    struct linked_misfit *m = item;
    *m = (struct linked_misfit){.back = (uint32_t)row_int(list->row, 0)};
    return read_commit(&m->at, list->row, 1) && read_commit(&m->base, list->row, 3)
               ? 0
               : store_damaged(list->store, "a link that does not fit", err);
}

static bool read_linked(struct kept_links *out, sqlite3_stmt *row, struct arena *arena)
{
    struct linked_history *l = &out->history;
    *out = (struct kept_links){
        .history = {.newest_link = row_int(row, 1),
                    .links = (size_t)row_int(row, 2),
                    .neighbours = (size_t)row_int(row, 3),
                    .loops = (size_t)row_int(row, 4),
                    .level_count = (size_t)row_int(row, 5),
                    .newest = (size_t)row_int(row, 6),
                    .misclosure = row_real(row, 7),
                    .now = read_interval(row, 8),
                    .accepted = read_interval(row, 11),
                    .moved = row_int(row, 14) != 0,
                    .trouble = row_null(row, 15) ? NULL : row_text(row, 15, arena)}};
    return row_copy(out->maker, sizeof(out->maker), row, 0) && read_commit(&l->since, row, 16);
}

static int read_items(struct linked_history *out, struct store *store, int64_t key,
                      struct arena *arena, struct error *err)
{
    struct row_list changes = {.store = store,
                               .row = statement_bind(store, SQL_LOAD_LINK_CHANGES, CELLS(INT(key))),
                               .arena = arena};
    if (statement_list(&changes, sizeof(*out->changes), read_change, err))
        return -1;
    struct row_list misfits = {.store = store,
                               .row = statement_bind(store, SQL_LOAD_MISFITS, CELLS(INT(key))),
                               .arena = arena};
    if (statement_list(&misfits, sizeof(*out->misfits), read_misfit, err))
        return -1;
    out->changes = changes.items;
    out->change_count = changes.count;
    out->misfits = misfits.items;
    out->misfit_count = misfits.count;
    return 0;
}

int store_load_kept_links(struct kept_links *out, struct store *store, const struct series *series,
                          struct arena *arena, struct error *err)
{
    int64_t key;
    *out = (struct kept_links){0};
    if (content_find_series(&key, store, series, err))
        return -1;
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_KEPT_LINKS, CELLS(INT(key)));
    const int status = statement_step(store, row, err);
    if (status <= 0)
        return status;
    const bool sound = read_linked(out, row, arena);
    sqlite3_reset(row);
    return sound ? read_items(&out->history, store, key, arena, err)
                 : store_damaged(store, "links that were kept", err);
}

static int put_items(struct store *store, int64_t key, const struct linked_history *l,
                     struct error *err)
{
    if (statement_run(store, err, SQL_DROP_LINK_CHANGES, CELLS(INT(key))) ||
        statement_run(store, err, SQL_DROP_MISFITS, CELLS(INT(key))))
        return -1;
    for (size_t i = 0; i < l->change_count; i++) {
        const struct linked_change *c = &l->changes[i];
        if (statement_run(store, err, SQL_ADD_LINK_CHANGE,
                          CELLS(INT(key), INT(i), INT(c->link), REAL(c->size.value),
                                REAL(c->size.low), REAL(c->size.high), REAL(c->evidence),
                                INT(c->misfit), INT(c->sure), INT(c->back), INT(c->filled),
                                REAL(c->left), TEXT(c->at.id), TEXT(c->base.id))))
            return -1;
    }
    for (size_t i = 0; i < l->misfit_count; i++) {
        const struct linked_misfit *m = &l->misfits[i];
        if (statement_run(store, err, SQL_ADD_MISFIT,
                          CELLS(INT(key), INT(i), INT(m->back), TEXT(m->at.id), TEXT(m->base.id))))
            return -1;
    }
    return 0;
}

int store_save_kept_links(struct store *store, const struct series *series,
                          const struct kept_links *kept, struct error *err)
{
    const struct linked_history *l = &kept->history;
    int64_t key;
    if (transaction_begin(store, err))
        return -1;
    int status = content_find_series(&key, store, series, err);
    if (status == 0)
        status = statement_run(
            store, err, SQL_PUT_KEPT_LINKS,
            CELLS(INT(key), TEXT(kept->maker), INT(l->newest_link), INT(l->links),
                  INT(l->neighbours), INT(l->loops), INT(l->level_count), INT(l->newest),
                  REAL(l->misclosure), REAL(l->now.value), REAL(l->now.low), REAL(l->now.high),
                  REAL(l->accepted.value), REAL(l->accepted.low), REAL(l->accepted.high),
                  INT(l->moved), l->trouble ? TEXT(l->trouble) : NOTHING, TEXT(l->since.id)));
    if (status == 0)
        status = put_items(store, key, l, err);
    return transaction_end(store, status, err);
}
