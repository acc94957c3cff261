// SPDX-License-Identifier: Apache-2.0
//
// The tables of fields (model/fields.h) as SQL, as rows and as JSON that is read.
#ifndef PLUMB_BASELINES_FIELDS_H
#define PLUMB_BASELINES_FIELDS_H

#include "baselines/statement.h"
#include "model/base.h"
#include "model/buffer.h"
#include "model/fields.h"

// ==== JSON from outside ====
//
// JSON from outside, one value at a time, as nodes in an arena. model/buffer.h has the writer.

enum node_type {
    NODE_NULL,
    NODE_FALSE,
    NODE_TRUE,
    NODE_NUMBER,
    NODE_TEXT,
    NODE_ARRAY,
    NODE_OBJECT
};
enum { NODE_DEPTH = 32 }; // deeper nesting is refused

// A value. Children of arrays and objects are a list; a member of an object has a name.
struct node {
    enum node_type type;
    uint32_t count; // children
    const char *name;
    // NODE_TEXT: the text. NODE_NUMBER: the number's digits, without zeros that end a fraction; of
    // one with an exponent the shortest text that reads back the same. NODE_NULL: the word that
    // stood in place of a number (nan, inf). The outermost array or object: the whole text.
    const char *text;
    struct node *children, *next;
};

// Parses one whole JSON value (RFC 8259); `where` is shown in errors ("file:line"). Refused are
// trailing text, invalid UTF-8, unpaired surrogates, NUL in a string, a name twice in an object,
// numbers beyond int64 or double, deep nesting; and more than two million values, or than fit
// beside a long text in 256 MiB. Nodes live in the arena.
int node_parse(const struct node **out, const char *text, size_t length, const char *where,
               struct arena *arena, struct error *err);

// Says which elements of a long list are needed: of the member `list` of the outermost object, or
// of a file that is one list. The other elements are read and let go, as if the list did not hold
// them.
struct node_sieve {
    const char *list;
    bool (*needs)(const struct node *element);
};
// node_parse() for a file of many lines, where one bad value must not cost the others: errors name
// the line, behind `where`. A word in place of a number (NaN, Infinity, 1e400) is null, and so is a
// member whose name an object has twice; a byte that a string cannot hold is '?'; a whole number
// may be longer than 64 bits. `sieve` may be NULL.
int node_parse_lines(const struct node **out, const char *text, size_t length, const char *where,
                     const struct node_sieve *sieve, struct arena *arena, struct error *err);

// About where a value stands in the text that `root` was read from: the offset in bytes of the
// value's first string. 0: the value holds no string.
size_t node_offset(const struct node *root, const struct node *node);

// The member of that name; NULL: `object` is NULL, no object, or has no such member.
const struct node *node_member(const struct node *object, const char *name);
// Members as values: the default when missing, null or of another type.
const char *node_text(const struct node *object, const char *name, const char *missing);
double node_real(const struct node *object, const char *name, double missing);
bool node_bool(const struct node *object, const char *name, bool missing);
int64_t node_int(const struct node *object, const char *name, int64_t missing);
// The value of a number node, NaN for anything else.
double node_value(const struct node *node);

// ==== fields ====

// FIELD_PICK_TYPE(value, key) chooses one of two pieces of SQL by the type of a field: `value`
// where the column holds the value itself, `key` where it holds the key of a text that many rows
// share.
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
// The condition that all fields equal the bound values.
#define FIELD_EQUALS(column, name, type, ...) " AND x." FIELD_COLUMN(column, type) " IS ?"

// Tables of structs of this room; their lists stand beside the structs.
extern const struct stored_fields build_fields, epoch_fields, profile_fields, figure_fields,
    unbuilt_fields;

// A calibrated profile of a device, and each of its figures (model/gpu.h).
struct stored_profile {
    const char *name;
    int64_t measured_s;
};
#define PROFILE_FIELDS(F)                                                                          \
    F(name, "name", TEXT, name, "", FIELD_ANY, 1)                                                  \
    F(measured_s, "measured_s", TIME, measured_s, "s", FIELD_TIMES, 1)
struct stored_figure {
    const char *name; // its key
    double value;
    const char *source;
};
#define FIGURE_FIELDS(F)                                                                           \
    F(name, "name", TEXT, name, "", FIELD_ANY, 1)                                                  \
    F(value, "value", REAL, value, "", FIELD_ANY, 1)                                               \
    F(source, "source", TEXT, source, "", FIELD_ANY, 1)

// Why a commit does not build (struct build_failure). Its errors are one text, a line each: file,
// line and what was said, with tabs between; none of the three holds a tab or a newline.
struct unbuilt {
    const char *reason, *log, *errors;
};
#define UNBUILT_FIELDS(F)                                                                          \
    F(reason, "reason", TEXT, reason, "", FIELD_ANY, 9)                                            \
    F(log_path, "log", TEXT, log, "", FIELD_ANY, 9)                                                \
    F(errors, "errors", TEXT, errors, "", FIELD_ANY, 9)
// The texts of the failure are borrowed; the errors are in the arena.
struct unbuilt unbuilt_of(const struct build_failure *failure, struct arena *arena);
// The failure that unbuilt_of() made this of. False: its errors are not of that form.
bool unbuilt_failure(struct build_failure *out, const struct unbuilt *unbuilt, struct arena *arena);

enum { FIELD_CELLS = 10 + FIELDS_MOST }; // room for a row's keys and its fields

// Appends a thing's fields to the `*count` cells of a row. Shared texts get their keys.
int fields_cells(struct cell *cells, size_t *count, struct store *store,
                 const struct stored_fields *fields, const void *thing, struct error *err);
// Runs a statement with these cells and the fields behind them.
int fields_run(struct store *store, enum statement which, const struct cell *keys, size_t key_count,
               const struct stored_fields *fields, const void *thing, struct error *err);
// Reads a row's columns from `first` on into the thing; texts end up in the arena. -1: the row is
// damaged.
int fields_load(void *thing, const struct stored_fields *fields, struct store *store,
                sqlite3_stmt *row, int first, struct arena *arena, struct error *err);

// Reads all rows of a statement that asks by a key, the fields behind one column, into things of
// `size` bytes in the arena.
int fields_list(void *items, size_t *count, size_t size, struct store *store, enum statement which,
                int64_t key, const struct stored_fields *fields, struct arena *arena,
                struct error *err);
// Replaces a series' rows: `drop` them, then `add` each with the key and its position before it.
int fields_replace(struct store *store, enum statement drop, enum statement add, int64_t key,
                   const struct stored_fields *fields, const void *items, size_t count, size_t size,
                   struct error *err);

// Reads members of a JSON object into the thing; a missing one is as if it were not known. Returns
// NULL, or the first field with a wrong value. Texts are copied into the arena; arena NULL: they
// are borrowed from the nodes.
const struct stored_field *fields_read(void *thing, const struct stored_fields *fields,
                                       const struct node *node, struct arena *arena);

// As fields_read(), from the elements of a JSON array, which have the order of the fields.
const struct stored_field *fields_read_list(void *thing, const struct stored_fields *fields,
                                            const struct node *list, struct arena *arena);

// Reads a cell of a table into the field; false: the cell is empty, or not as it has to be.
bool field_read(void *thing, const struct stored_field *field, const char *cell);
// Whether every figure of a thing is known, and in its range.
bool fields_sound(const struct stored_fields *fields, const void *thing);

// SQL that adds the columns of fields that are new in a version of the store; NULL: there are none.
// The caller frees.
char *fields_migration(int version);
// The newest version in which a field is new.
int fields_version(void);

// The ranges of names, times and sizes from elsewhere: imported files are checked before they are
// saved, a shard before it is merged. Nothing that this program writes lies outside.
bool range_is_time(int64_t time_s); // OLDEST_TIME_S to LATEST_TIME_S
// One line for people, not empty, of fewer than `size` bytes: UTF-8 without control characters.
bool range_is_name(const char *text, size_t size);
// Checks every value of the database `schema` ("main", or one that is attached), and refuses the
// first bad one by table, column and value.
int range_check(struct store *store, const char *schema, struct error *err);

// ==== rows of single things ====
//
// Rows of single things, for this room alone: saved and loaded, or found by content, added when
// missing and read back checked. All functions but those that load and find need a transaction of
// the caller.

// Saves a run with a uid of the caller's choice, and its end.
int save_run(int64_t *run_id, struct store *store, const struct run *run, const char *uid,
             struct error *err);
int save_finish(struct store *store, const struct run *run, int64_t finished_s, struct error *err);
int save_profile(struct store *store, const struct device *device, const struct gpu *gpu,
                 int64_t measured_s, struct error *err);

// key 0: an absent measurement. A measurement whose samples were pruned has one sample that stands
// for all: its time and clock.
int load_measurement(struct measurement *out, struct store *store, int64_t key, struct arena *arena,
                     struct error *err);
int load_build(struct build_record *out, struct store *store, int64_t key, struct arena *arena,
               struct error *err);

// Whether the verdicts of a study add up to its gates.
bool study_sound(const struct study_result *study);

// ==== found by content ====

int content_commit(int64_t *key, struct store *store, const struct commit *commit,
                   struct error *err); // key 0 when commit->id is ""
int content_device(int64_t *key, struct store *store, const struct device *device,
                   struct error *err);
int content_kernel(int64_t *key, struct store *store, const char *name, struct error *err);
// traits NULL: not known. key 0 when code is "".
int content_code(int64_t *key, struct store *store, int64_t kernel, const char *code,
                 const struct traits *traits, struct error *err);
int content_series(int64_t *key, struct store *store, const struct series *series, int64_t kernel,
                   struct error *err); // the device must be known

// Key 0: unknown to this store.
int content_find_series(int64_t *key, struct store *store, const struct series *series,
                        struct error *err);

int content_load_commit(struct commit *out, struct store *store, int64_t key, struct arena *arena,
                        struct error *err); // key 0: an empty commit
int content_load_traits(struct traits *out, struct store *store, const char *json,
                        struct error *err);
// Writes the JSON object that content_load_traits() reads, without traits that are 0.
void content_write_traits(struct json *json, const char *name, const struct traits *traits);
// Writes an array of names and times.
void content_write_parts(struct json *json, const char *name, const struct prediction *prediction);

// Lists as JSON arrays, to be bound as one parameter. The caller frees.
char *content_json_list(size_t count, const char *(*get)(const void *list, size_t index),
                        const void *list);

// The spread of pairs of two measurements of one run; pairs 0 when there are none.
struct pair_scale content_pair_scale(const struct measurement *base,
                                     const struct measurement *head);

#endif
