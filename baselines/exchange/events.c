// SPDX-License-Identifier: Apache-2.0
//
// Events as lines of JSON, written and read: what was reported, the series that it touches, and
// what the tool said became of it. A person's word is in the epochs, which have lines of their own.
#include "baselines/content.h"
#include "baselines/exchange/export.h"
#include "baselines/exchange/import.h"
#include "baselines/kept/event.h"
#include "baselines/range.h"

#include <math.h>
#include <string.h>

// ---- writing ----

static int put_change(struct json *json, struct store *store, const struct stored_event_change *c,
                      struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_NAME_SERIES, CELLS(INT(c->series)));
    const int status = statement_step(store, row, err);
    if (status <= 0)
        return status < 0 ? -1 : store_damaged(store, "a series of an event", err);
    json_begin(json, NULL, '{');
    export_text(json, "kernel", (const char *)sqlite3_column_text(row, 0));
    export_text(json, "problem", (const char *)sqlite3_column_text(row, 1));
    export_text(json, "kind", (const char *)sqlite3_column_text(row, 2));
    export_text(json, "uuid", (const char *)sqlite3_column_text(row, 3));
    export_text(json, "device", (const char *)sqlite3_column_text(row, 4));
    export_text(json, "first", c->first);
    export_text(json, "last", c->last);
    json_number(json, "log_ratio", c->log_ratio);
    json_number(json, "log_evidence", c->log_evidence);
    json_end(json, '}');
    sqlite3_reset(row);
    return 0;
}

static int put_event(FILE *file, struct store *store, const struct stored_event *e,
                     struct error *err)
{
    struct export_line line;
    struct json *json = export_begin(&line, "event");
    export_text(json, "name", e->name);
    export_text(json, "cause", attribution_name(e->cause));
    export_text(json, "what", e->what);
    export_text(json, "culprit", e->culprit);
    json_begin(json, "changes", '[');
    for (size_t i = 0; i < e->change_count; i++) {
        if (put_change(json, store, &e->changes[i], err)) {
            buffer_free(&line.text);
            return -1;
        }
    }
    json_end(json, ']');
    json_begin(json, "entries", '[');
    for (size_t i = 0; i < e->entry_count; i++) {
        const struct event_entry *n = &e->entries[i];
        json_begin(json, NULL, '{');
        export_text(json, "state", event_state_name(n->state));
        json_int(json, "when_s", n->when_s);
        export_text(json, "who", n->who);
        export_text(json, "why", n->why);
        json_end(json, '}');
    }
    json_end(json, ']');
    export_end(&line, file);
    return 0;
}

int export_events(struct store *store, const struct export_filter *filter, FILE *file,
                  struct error *err)
{
    struct arena arena = {0};
    struct stored_event *events;
    size_t count = 0;
    if (filter->run_id || filter->kernel) // they are of the whole history
        return 0;
    int status = store_load_events(&events, &count, store, &arena, err);
    for (size_t i = 0; status == 0 && i < count; i++)
        status = put_event(file, store, &events[i], err);
    arena_free(&arena);
    return status;
}

// ---- reading ----

static bool is_id(char out[OBJECT_ID_TEXT], const char *text)
{
    return text_copy(out, OBJECT_ID_TEXT, text) && import_is_object_id(text);
}

// *sound is false: not a change.
static int read_change(struct stored_event_change *out, bool *sound, struct store *store,
                       const struct node *node, struct error *err)
{
    const struct device device = {.kind = node_text(node, "kind", ""),
                                  .uuid = node_text(node, "uuid", ""),
                                  .name = node_text(node, "device", "")};
    const char *kernel = node_text(node, "kernel", "");
    struct problem problem;
    struct error ignored;
    int64_t key;
    out->log_ratio = node_real(node, "log_ratio", NAN);
    out->log_evidence = node_real(node, "log_evidence", NAN);
    *sound = range_is_name(device.uuid, IMPORT_WHERE) && range_is_name(kernel, KERNEL_NAME_TEXT) &&
             problem_parse(&problem, node_text(node, "problem", ""), &ignored) == 0 &&
             is_id(out->first, node_text(node, "first", "")) &&
             is_id(out->last, node_text(node, "last", "")) && fabs(out->log_ratio) <= 50 &&
             isfinite(out->log_evidence);
    const struct series series = {kernel, &problem, device.uuid};
    return *sound && (content_device(&key, store, &device, err) ||
                      content_kernel(&key, store, kernel, err) ||
                      content_series(&out->series, store, &series, key, err))
               ? -1
               : 0;
}

// What the tool itself says; nothing else is kept in a store.
static bool read_entry(struct event_entry *out, const struct node *node)
{
    *out = (struct event_entry){.when_s = node_int(node, "when_s", 0),
                                .who = node_text(node, "who", ""),
                                .why = node_text(node, "why", "")};
    return event_state_parse(&out->state, node_text(node, "state", "")) == 0 &&
           (out->state == EVENT_NEW || out->state == EVENT_CONFIRMED || out->state == EVENT_FIXED ||
            out->state == EVENT_WITHDRAWN) &&
           range_is_time(out->when_s) && range_is_name(out->who, IMPORT_WHERE) &&
           (!out->why[0] || range_is_name(out->why, 4096));
}

static int read_event(struct stored_event *out, bool *sound, struct store *store,
                      const struct node *node, struct arena *arena, struct error *err)
{
    const struct node *changes = node_member(node, "changes");
    const struct node *entries = node_member(node, "entries");
    const char *culprit = node_text(node, "culprit", "");
    out->what = node_text(node, "what", "");
    *sound = text_copy(out->name, sizeof(out->name), node_text(node, "name", "")) &&
             range_is_name(out->name, sizeof(out->name)) &&
             attribution_parse(&out->cause, node_text(node, "cause", "")) == 0 &&
             out->cause != ATTRIBUTION_NONE && (!culprit[0] || is_id(out->culprit, culprit)) &&
             (!out->what[0] || range_is_name(out->what, 4096)) && changes &&
             changes->type == NODE_ARRAY && entries && entries->type == NODE_ARRAY;
    if (!*sound)
        return 0;
    out->changes = arena_alloc(arena, (changes->count + 1) * sizeof(*out->changes));
    out->entries = arena_alloc(arena, (entries->count + 1) * sizeof(*out->entries));
    for (const struct node *at = changes->children; at && *sound; at = at->next) {
        if (read_change(&out->changes[out->change_count++], sound, store, at, err))
            return -1;
    }
    for (const struct node *at = entries->children; at && *sound; at = at->next)
        *sound = read_entry(&out->entries[out->entry_count++], at);
    return 0;
}

// As in merging: of an event that is here already only entries are new.
static int save_event(struct import *in, struct stored_event *e, struct error *err)
{
    struct store *store = in->store;
    if (statement_get(&e->key, store, err, SQL_FIND_EVENT, CELLS(TEXT(e->name))))
        return -1;
    if (!e->key) {
        if (store_save_event(store, e, err))
            return -1;
        in->added.events++;
    }
    for (size_t i = 0; i < e->entry_count; i++) {
        if (store_add_event_entry(store, e->key, &e->entries[i], err))
            return -1;
    }
    return 0;
}

int import_event(struct import *in, const struct node *node, struct arena *arena, struct error *err)
{
    struct stored_event event = {0};
    bool sound;
    if (read_event(&event, &sound, in->store, node, arena, err))
        return import_blame(in, err);
    if (!sound)
        return import_refuse(in,
                             "an event has a name, a cause, changes with series, commits and "
                             "sizes, and entries with state, time and who",
                             err);
    return save_event(in, &event, err) ? import_blame(in, err) : 0;
}
