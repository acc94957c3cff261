// SPDX-License-Identifier: Apache-2.0
//
// The tables of fields (model/fields.h) as SQL, as rows and as JSON that is read.
#ifndef PLUMB_BASELINES_FIELDS_H
#define PLUMB_BASELINES_FIELDS_H

#include "baselines/json_read.h"
#include "baselines/statement.h"
#include "model/fields.h"

// Of a field of this type: the piece of SQL where the column holds the value, or where it holds the
// key of a text that many rows share.
#define FIELD_PICK_REAL(value, key)   value
#define FIELD_PICK_LOG(value, key)    value
#define FIELD_PICK_ZERO(value, key)   value
#define FIELD_PICK_ABOVE(value, key)  value
#define FIELD_PICK_COUNT(value, key)  value
#define FIELD_PICK_SIZE(value, key)   value
#define FIELD_PICK_SEED(value, key)   value
#define FIELD_PICK_TIME(value, key)   value
#define FIELD_PICK_FLAG(value, key)   value
#define FIELD_PICK_SET(value, key)    value
#define FIELD_PICK_ID(value, key)     value
#define FIELD_PICK_TEXT(value, key)   value
#define FIELD_PICK_NOTE(value, key)   value
#define FIELD_PICK_KIND(value, key)   value
#define FIELD_PICK_CAUSE(value, key)  value
#define FIELD_PICK_BOUND(value, key)  value
#define FIELD_PICK_STATE(value, key)  value
#define FIELD_PICK_WORD(value, key)   value
#define FIELD_PICK_SHARED(value, key) key
#define FIELD_PICK_RARE(value, key)   key

#define FIELD_COLUMN(column, type) #column FIELD_PICK_##type("", "_key")
// Pieces of SQL for a list of fields, each with a comma before it. FIELD_COLUMNS: the columns.
// FIELD_MARKS: as many parameters. FIELD_RENEWS: what is set where the row is there already.
// FIELD_LOADS and FIELD_MERGES: what is loaded or merged from the row `x`.
#define FIELD_COLUMNS(column, name, type, ...) ", " FIELD_COLUMN(column, type)
#define FIELD_MARKS(...)                       ", ?"
#define FIELD_RENEWS(column, name, type, ...)                                                      \
    ", " FIELD_COLUMN(column, type) " = excluded." FIELD_COLUMN(column, type)
#define FIELD_LOADS(column, name, type, ...)                                                       \
    ", " FIELD_PICK_##type("x." #column,                                                           \
                           "(SELECT text FROM texts WHERE text_key = x." #column "_key)")
#define FIELD_MERGES(column, name, type, ...)                                                      \
    ", " FIELD_PICK_##type("x." #column,                                                           \
                           "(SELECT ours FROM map_text WHERE theirs = x." #column "_key)")
// The condition that all are what is bound.
#define FIELD_EQUALS(column, name, type, ...) " AND x." FIELD_COLUMN(column, type) " IS ?"

// Tables of structs of this room; their lists stand beside the structs.
extern const struct stored_fields build_fields, epoch_fields;

enum { FIELD_CELLS = 10 + FIELDS_MOST }; // room for a row's keys and its fields

// The fields of a thing behind `*count` other cells of a row. Shared texts get their keys.
int fields_cells(struct cell *cells, size_t *count, struct store *store,
                 const struct stored_fields *fields, const void *thing, struct error *err);
// Runs a statement with these cells and the fields behind them.
int fields_run(struct store *store, enum statement which, const struct cell *keys, size_t key_count,
               const struct stored_fields *fields, const void *thing, struct error *err);
// A row's columns from `first` on into the thing; texts end up in the arena. -1: the row is
// damaged.
int fields_load(void *thing, const struct stored_fields *fields, struct store *store,
                sqlite3_stmt *row, int first, struct arena *arena, struct error *err);

// All rows of a statement that asks by a key, with such fields behind one column, into things of so
// many bytes in the arena.
int fields_list(void *items, size_t *count, size_t size, struct store *store, enum statement which,
                int64_t key, const struct stored_fields *fields, struct arena *arena,
                struct error *err);
// Replaces a series' rows: `drop` them, then `add` each with the key and its position before it.
int fields_replace(struct store *store, enum statement drop, enum statement add, int64_t key,
                   const struct stored_fields *fields, const void *items, size_t count, size_t size,
                   struct error *err);

// Members of a JSON object into the thing; what is missing is as if it were not known. NULL, or the
// first field that is not what it has to be. Texts are copied into the arena; NULL: they are
// borrowed from the nodes.
const struct stored_field *fields_read(void *thing, const struct stored_fields *fields,
                                       const struct node *node, struct arena *arena);

// A cell of a table into the field; false: it is not what it has to be, or empty.
bool field_read(void *thing, const struct stored_field *field, const char *cell);
// Whether every figure is known, and in its range.
bool fields_sound(const struct stored_fields *fields, const void *thing);

// The columns that a version of the store adds by fields that are since then; NULL: none. The
// caller frees.
char *fields_migration(int version);
// The newest version that a field is since.
int fields_version(void);

// What names, times and sizes from elsewhere may be: of imported files before they are saved, of a
// shard before it is merged. Nothing that this program writes lies outside.
bool range_is_time(int64_t time_s); // OLDEST_TIME_S to LATEST_TIME_S
// One line for people, not empty, of fewer than `size` bytes: UTF-8 without control characters.
bool range_is_name(const char *text, size_t size);
// Every value of the database `schema` ("main", or one that is attached) that is not as it must be
// is refused, the first of them by table, column and value.
int range_check(struct store *store, const char *schema, struct error *err);

#endif
