// SPDX-License-Identifier: Apache-2.0
//
// Events kept and read back.
#include "baselines/fields.h"
#include "baselines/store.h"

#include <string.h>

const char *attribution_word(int cause)
{
    return cause < ATTRIBUTIONS ? attribution_name((enum attribution)cause) : NULL;
}

static const char *event_state_word(int state)
{
    return state < EVENT_STATES ? event_state_name((enum event_state)state) : NULL;
}

#define F(...) FIELD_ITEM(stored_event, __VA_ARGS__)
STORED_FIELDS(event, "events", EVENT_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(stored_event_change, __VA_ARGS__)
STORED_FIELDS(event_change, "event_changes", EVENT_CHANGE_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(event_entry, __VA_ARGS__)
STORED_FIELDS(event_entry, "event_entries", EVENT_ENTRY_FIELDS(F));
#undef F

// ---- reading ----

static int load_fields(void *thing, const struct stored_fields *fields, const struct row_list *list,
                       struct error *err)
{
    return fields_load(thing, fields, list->store, list->row, 1, list->arena, err);
}

static int read_change(void *item, const struct row_list *list, struct error *err)
{
    struct stored_event_change *c = item;
    c->series = row_int(list->row, 0);
    return load_fields(c, &event_change_fields, list, err);
}

static int read_entry(void *item, const struct row_list *list, struct error *err)
{
    return load_fields(item, &event_entry_fields, list, err);
}

static int read_event(void *item, const struct row_list *list, struct error *err)
{
    struct stored_event *e = item;
    e->key = row_int(list->row, 0);
    return load_fields(e, &event_fields, list, err);
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
    return load_fields(item, &commit_fields, list, err);
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
    if (fields_run(store, SQL_PUT_EVENT, NULL, 0, &event_fields, e, err) ||
        statement_get(&e->key, store, err, SQL_FIND_EVENT, CELLS(TEXT(e->name))) ||
        statement_run(store, err, SQL_DROP_EVENT_CHANGES, CELLS(INT(e->key))))
        return -1;
    for (size_t i = 0; i < e->change_count; i++) {
        const struct stored_event_change *c = &e->changes[i];
        if (fields_run(store, SQL_ADD_EVENT_CHANGE, CELLS(INT(e->key), INT(c->series)),
                       &event_change_fields, c, err))
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
        fields_run(store, SQL_ADD_EVENT_ENTRY, CELLS(INT(event)), &event_entry_fields, entry, err),
        err);
}
