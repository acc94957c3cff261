// SPDX-License-Identifier: Apache-2.0
//
// Events kept and read back.
#include "baselines/content.h"
#include "baselines/kept/event.h"

#include <stdlib.h>
#include <string.h>

// ---- reading ----

static int read_changes(struct stored_event *e, struct store *store, struct arena *arena,
                        struct error *err)
{
    struct stored_event_change *found = NULL;
    size_t used = 0, room = 0;
    int status;
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_EVENT_CHANGES, CELLS(INT(e->key)));
    while ((status = statement_step(store, row, err)) > 0) {
        found = xgrow(found, used, &room, sizeof(*found));
        struct stored_event_change *c = &found[used++];
        *c = (struct stored_event_change){.series = row_int(row, 0),
                                          .log_ratio = row_real(row, 3),
                                          .log_evidence = row_real(row, 4)};
        if (!row_copy(c->first, sizeof(c->first), row, 1) ||
            !row_copy(c->last, sizeof(c->last), row, 2)) {
            status = store_damaged(store, "a change of an event", err);
            break;
        }
    }
    sqlite3_reset(row);
    e->changes = arena_copy(arena, found, used * sizeof(*found));
    e->change_count = used;
    free(found);
    return status < 0 ? -1 : 0;
}

static int read_entries(struct stored_event *e, struct store *store, struct arena *arena,
                        struct error *err)
{
    struct event_entry *found = NULL;
    size_t used = 0, room = 0;
    int status;
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_EVENT_ENTRIES, CELLS(INT(e->key)));
    while ((status = statement_step(store, row, err)) > 0) {
        found = xgrow(found, used, &room, sizeof(*found));
        struct event_entry *n = &found[used++];
        *n = (struct event_entry){.when_s = row_int(row, 1),
                                  .who = row_text(row, 2, arena),
                                  .why = row_text(row, 3, arena)};
        if (event_state_parse(&n->state, row_text(row, 0, arena))) {
            status = store_damaged(store, "an entry of an event", err);
            break;
        }
    }
    sqlite3_reset(row);
    e->entries = arena_copy(arena, found, used * sizeof(*found));
    e->entry_count = used;
    free(found);
    return status < 0 ? -1 : 0;
}

int store_load_events(struct stored_event **out, size_t *count, struct store *store,
                      struct arena *arena, struct error *err)
{
    struct stored_event *found = NULL;
    size_t used = 0, room = 0;
    int status;
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_EVENTS, NULL, 0);
    while ((status = statement_step(store, row, err)) > 0) {
        found = xgrow(found, used, &room, sizeof(*found));
        struct stored_event *e = &found[used++];
        *e = (struct stored_event){.key = row_int(row, 0), .what = row_text(row, 3, arena)};
        if (!row_copy(e->name, sizeof(e->name), row, 1) ||
            !row_copy(e->culprit, sizeof(e->culprit), row, 4) ||
            attribution_parse(&e->cause, row_text(row, 2, arena))) {
            status = store_damaged(store, "an event", err);
            break;
        }
    }
    sqlite3_reset(row);
    for (size_t i = 0; status == 0 && i < used; i++) {
        if (read_changes(&found[i], store, arena, err) ||
            read_entries(&found[i], store, arena, err))
            status = -1;
    }
    if (status == 0) {
        *out = arena_copy(arena, found, used * sizeof(*found));
        *count = used;
    }
    free(found);
    return status < 0 ? -1 : 0;
}

int store_commits(struct commit **out, size_t *count, struct store *store, struct arena *arena,
                  struct error *err)
{
    struct commit *found = NULL;
    size_t used = 0, room = 0;
    int status;
    sqlite3_stmt *row = statement_bind(store, SQL_ALL_COMMITS, NULL, 0);
    while ((status = statement_step(store, row, err)) > 0) {
        found = xgrow(found, used, &room, sizeof(*found));
        struct commit *c = &found[used++];
        *c = (struct commit){.summary = row_text(row, 2, arena),
                             .author = row_text(row, 3, arena),
                             .time_s = row_int(row, 4)};
        if (!row_copy(c->id, sizeof(c->id), row, 0) ||
            !row_copy(c->parent, sizeof(c->parent), row, 1)) {
            status = store_damaged(store, "a commit id is too long", err);
            break;
        }
    }
    sqlite3_reset(row);
    if (status == 0) {
        *out = arena_copy(arena, found, used * sizeof(*found));
        *count = used;
    }
    free(found);
    return status < 0 ? -1 : 0;
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
