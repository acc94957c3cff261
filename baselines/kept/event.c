// SPDX-License-Identifier: Apache-2.0
//
// Events kept and read back.
#include "baselines/kept/event.h"
#include "baselines/content.h"

#include <string.h>

// ---- reading ----

static int read_change(void *item, const struct row_list *list, struct error *err)
{
    sqlite3_stmt *row = list->row;
    struct stored_event_change *c = item;
    *c = (struct stored_event_change){
        .series = row_int(row, 0), .log_ratio = row_real(row, 3), .log_evidence = row_real(row, 4)};
    if (!row_copy(c->first, sizeof(c->first), row, 1) ||
        !row_copy(c->last, sizeof(c->last), row, 2))
        return store_damaged(list->store, "a change of an event", err);
    return 0;
}

static int read_entry(void *item, const struct row_list *list, struct error *err)
{
    sqlite3_stmt *row = list->row;
    struct event_entry *n = item;
    *n = (struct event_entry){.when_s = row_int(row, 1),
                              .who = row_text(row, 2, list->arena),
                              .why = row_text(row, 3, list->arena)};
    if (event_state_parse(&n->state, row_text(row, 0, list->arena)))
        return store_damaged(list->store, "an entry of an event", err);
    return 0;
}

static int read_event(void *item, const struct row_list *list, struct error *err)
{
    sqlite3_stmt *row = list->row;
    struct stored_event *e = item;
    *e = (struct stored_event){.key = row_int(row, 0), .what = row_text(row, 3, list->arena)};
    if (!row_copy(e->name, sizeof(e->name), row, 1) ||
        !row_copy(e->culprit, sizeof(e->culprit), row, 4) ||
        attribution_parse(&e->cause, row_text(row, 2, list->arena)))
        return store_damaged(list->store, "an event", err);
    return 0;
}

// Reads the commits, series and entries that belong to one event.
static int read_rest(struct stored_event *e, struct store *store, struct arena *arena,
                     struct error *err)
{
    struct row_list changes = {
        .store = store,
        .row = statement_bind(store, SQL_LOAD_EVENT_CHANGES, CELLS(INT(e->key))),
        .arena = arena};
    struct row_list entries = {
        .store = store,
        .row = statement_bind(store, SQL_LOAD_EVENT_ENTRIES, CELLS(INT(e->key))),
        .arena = arena};
    if (statement_list(&changes, sizeof(*e->changes), read_change, err) ||
        statement_list(&entries, sizeof(*e->entries), read_entry, err))
        return -1;
    e->changes = changes.items;
    e->change_count = changes.count;
    e->entries = entries.items;
    e->entry_count = entries.count;
    return 0;
}

int store_load_events(struct stored_event **out, size_t *count, struct store *store,
                      struct arena *arena, struct error *err)
{
    struct row_list list = {
        .store = store, .row = statement_bind(store, SQL_LOAD_EVENTS, NULL, 0), .arena = arena};
    if (statement_list(&list, sizeof(**out), read_event, err))
        return -1;
    struct stored_event *events = list.items;
    for (size_t i = 0; i < list.count; i++) {
        if (read_rest(&events[i], store, arena, err))
            return -1;
    }
    *out = events;
    *count = list.count;
    return 0;
}

static int read_commit(void *item, const struct row_list *list, struct error *err)
{
    sqlite3_stmt *row = list->row;
    struct commit *c = item;
    *c = (struct commit){.summary = row_text(row, 2, list->arena),
                         .author = row_text(row, 3, list->arena),
                         .time_s = row_int(row, 4)};
    if (!row_copy(c->id, sizeof(c->id), row, 0) || !row_copy(c->parent, sizeof(c->parent), row, 1))
        return store_damaged(list->store, "a commit id is too long", err);
    return 0;
}

int store_commits(struct commit **out, size_t *count, struct store *store, struct arena *arena,
                  struct error *err)
{
    struct row_list list = {
        .store = store, .row = statement_bind(store, SQL_ALL_COMMITS, NULL, 0), .arena = arena};
    if (statement_list(&list, sizeof(**out), read_commit, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}

// ---- writing ----

static int save(struct store *store, struct stored_event *e, struct error *err)
{
    if (statement_run(store, err, SQL_PUT_EVENT,
                      CELLS(TEXT(e->name), TEXT(attribution_name(e->cause)), TEXT(e->what),
                            TEXT(e->culprit))) ||
        statement_get(&e->key, store, err, SQL_FIND_EVENT, CELLS(TEXT(e->name))) ||
        statement_run(store, err, SQL_DROP_EVENT_CHANGES, CELLS(INT(e->key))))
        return -1;
    for (size_t i = 0; i < e->change_count; i++) {
        const struct stored_event_change *c = &e->changes[i];
        if (statement_run(store, err, SQL_ADD_EVENT_CHANGE,
                          CELLS(INT(e->key), INT(c->series), TEXT(c->first), TEXT(c->last),
                                REAL(c->log_ratio), REAL(c->log_evidence))))
            return -1;
    }
    return 0;
}

int store_save_event(struct store *store, struct stored_event *event, struct error *err)
{
    if (transaction_begin(store, err))
        return -1;
    return transaction_end(store, save(store, event, err), err);
}

int store_add_event_entry(struct store *store, int64_t event, const struct event_entry *entry,
                          struct error *err)
{
    if (transaction_begin(store, err))
        return -1;
    return transaction_end(
        store,
        statement_run(store, err, SQL_ADD_EVENT_ENTRY,
                      CELLS(INT(event), TEXT(event_state_name(entry->state)), INT(entry->when_s),
                            TEXT(entry->who), TEXT(entry->why))),
        err);
}
