// SPDX-License-Identifier: Apache-2.0
//
// The tables of fields (model/fields.h) applied three ways: as SQL, as rows of the store, and as
// JSON that is read.
#ifndef PLUMB_BASELINES_FIELDS_H
#define PLUMB_BASELINES_FIELDS_H

#include "baselines/statement.h"
#include "model/base.h"
#include "model/buffer.h"
#include "model/fields.h"

// ==== JSON from outside ====
//
// Reads JSON from outside, one value at a time, as nodes in an arena. model/buffer.h has the
// writer.

enum node_type {
    NODE_NULL,
    NODE_FALSE,
    NODE_TRUE,
    NODE_NUMBER,
    NODE_TEXT,
    NODE_ARRAY,
    NODE_OBJECT
};
enum { NODE_DEPTH = 32 }; // a value that is nested more deeply is refused

// A JSON value. The children of an array or object form a list; a member of an object has a name.
struct node {
    enum node_type type;
    uint32_t count; // number of children
    const char *name;
    // For NODE_TEXT this is the text. For NODE_NUMBER it is the number's digits without zeros at
    // the end of a fraction; a number with an exponent is replaced by the shortest text that reads
    // back the same. For NODE_NULL it is the word that stood where a number should (nan, inf). For
    // the outermost array or object it is the whole text.
    const char *text;
    struct node *children, *next;
};

// Parses one whole JSON value (RFC 8259). `where` is what errors show ("file:line"). Refused are
// trailing text, invalid UTF-8, unpaired surrogates, NUL in a string, two members of one name in an
// object, numbers beyond int64 or double, and deep nesting; also more than two million values, or
// more values than fit into 256 MiB together with a long text. Nodes live in the arena.
int node_parse(const struct node **out, const char *text, size_t length, const char *where,
               struct arena *arena, struct error *err);

// Says which elements of a long list are needed. The list is the member `list` of the outermost
// object, or the file itself where the file is one list. The other elements are parsed and dropped,
// as if the list did not hold them.
struct node_sieve {
    const char *list;
    bool (*needs)(const struct node *element);
};
// Does what node_parse() does for a file of many lines, where one bad value must not cost the
// others. Errors name the line behind `where`. These values are repaired: a word in place of a
// number (NaN, Infinity, 1e400) becomes null, and so does a member whose name an object has twice;
// a byte that a string cannot hold becomes '?'; a whole number may be longer than 64 bits. `sieve`
// may be NULL.
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
// where the column holds the value itself, `key` where the column holds the key of a text that many
// rows share.
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
// Pieces of SQL for a list of fields, each with a comma before it. FIELD_COLUMNS names the columns.
// FIELD_MARKS has as many parameters. FIELD_RENEWS sets each column of a row that exists already.
// FIELD_LOADS and FIELD_MERGES take each column from the row `x`, to load it or to merge it.
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

// The tables of fields of this room's structs; the list of each stands beside its struct.
extern const struct stored_fields build_fields, epoch_fields, profile_fields, figure_fields,
    unbuilt_fields;
// Every table of fields of the store, those of model/fields.h included.
extern const struct stored_fields *const all_fields[];
extern const size_t all_fields_count;

// A calibrated profile of a device as a row; its figures (model/gpu.h) are rows of their own.
struct stored_profile {
    const char *name;
    int64_t measured_s;
};
#define PROFILE_FIELDS(F)                                                                          \
    F(name, "name", TEXT, name, "", FIELD_ANY, 1)                                                  \
    F(measured_s, "measured_s", TIME, measured_s, "s", FIELD_TIMES, 1)
struct stored_figure {
    const char *name; // the profile's name in model/gpu.h
    double value;
    const char *source;
};
#define FIGURE_FIELDS(F)                                                                           \
    F(name, "name", TEXT, name, "", FIELD_ANY, 1)                                                  \
    F(value, "value", REAL, value, "", FIELD_ANY, 1)                                               \
    F(source, "source", TEXT, source, "", FIELD_ANY, 1)

// Why a commit does not build (struct build_failure), as a row. All errors together are one text
// with a line for each: file, line number and message, with tabs between. None of the three holds a
// tab or a newline.
struct unbuilt {
    const char *reason, *log, *errors;
};
#define UNBUILT_FIELDS(F)                                                                          \
    F(reason, "reason", TEXT, reason, "", FIELD_ANY, 9)                                            \
    F(log_path, "log", TEXT, log, "", FIELD_ANY, 9)                                                \
    F(errors, "errors", TEXT, errors, "", FIELD_ANY, 9)
// Makes the row of a failure. The failure's texts are borrowed; the text of its errors is in the
// arena.
struct unbuilt unbuilt_of(const struct build_failure *failure, struct arena *arena);
// Makes the failure that unbuilt_of() was given. False: the text of the errors does not have that
// form.
bool unbuilt_failure(struct build_failure *out, const struct unbuilt *unbuilt, struct arena *arena);

enum { FIELD_CELLS = 10 + FIELDS_MOST }; // room for a row's keys and its fields

// Appends the fields of `thing` to the `*count` cells of a row. A text that many rows share is
// replaced by its key.
int fields_cells(struct cell *cells, size_t *count, struct store *store,
                 const struct stored_fields *fields, const void *thing, struct error *err);
// Runs a statement with these key cells, followed by the fields of the thing.
int fields_run(struct store *store, enum statement which, const struct cell *keys, size_t key_count,
               const struct stored_fields *fields, const void *thing, struct error *err);
// Reads the columns of a row, from column `first` on, into the thing. Texts are copied into the
// arena. -1: the row is damaged.
int fields_load(void *thing, const struct stored_fields *fields, struct store *store,
                sqlite3_stmt *row, int first, struct arena *arena, struct error *err);

// Reads all rows that a statement finds by a key. The statement's first column is no field. Each
// row becomes a thing of `size` bytes in the arena.
int fields_list(void *items, size_t *count, size_t size, struct store *store, enum statement which,
                int64_t key, const struct stored_fields *fields, struct arena *arena,
                struct error *err);
// Replaces the rows that belong to one key: runs `drop`, then `add` for each thing with the key and
// the thing's position before its fields.
int fields_replace(struct store *store, enum statement drop, enum statement add, int64_t key,
                   const struct stored_fields *fields, const void *items, size_t count, size_t size,
                   struct error *err);

// Reads members of a JSON object into the thing. A member that is missing leaves its field unknown.
// Returns NULL, or the first field with a wrong value. Texts are copied into the arena; with arena
// NULL they are borrowed from the nodes.
const struct stored_field *fields_read(void *thing, const struct stored_fields *fields,
                                       const struct node *node, struct arena *arena);

// Does the same for a JSON array whose elements stand in the order of the fields.
const struct stored_field *fields_read_list(void *thing, const struct stored_fields *fields,
                                            const struct node *list, struct arena *arena);

// Reads a cell of a table into the field. False: the cell is empty or malformed.
bool field_read(void *thing, const struct stored_field *field, const char *cell);
// Whether every figure of a thing is known and within its range.
bool fields_sound(const struct stored_fields *fields, const void *thing);

// The ranges that names, times and sizes from elsewhere must lie in. An imported file is checked
// before it is saved, a shard before it is merged. Everything that this program writes lies within
// them.
bool range_is_time(int64_t time_s); // OLDEST_TIME_S to LATEST_TIME_S
// True for a text of one line for people: not empty, fewer than `size` bytes, UTF-8 without control
// characters.
bool range_is_name(const char *text, size_t size);

// ==== rows of single things ====
//
// Rows of single things, for this room alone. Some are saved and loaded by key. Others are found by
// their content, added when they are missing, and checked when they are read back. Every function
// but those that load and find needs a transaction of the caller.

// Saves a run under a uid that the caller chose.
int save_run(int64_t *run_id, struct store *store, const struct run *run, const char *uid,
             struct error *err);
int save_profile(struct store *store, const struct device *device, const struct gpu *gpu,
                 int64_t measured_s, struct error *err);

int load_build(struct build_record *out, struct store *store, int64_t key, struct arena *arena,
               struct error *err);

// Whether the counts of a study's verdicts add up to its number of gates.
bool study_sound(const struct study_result *study);

// ==== found by content ====

int content_commit(int64_t *key, struct store *store, const struct commit *commit,
                   struct error *err); // key 0 when commit->id is ""
int content_device(int64_t *key, struct store *store, const struct device *device,
                   struct error *err);
int content_kernel(int64_t *key, struct store *store, const char *name, struct error *err);
// With traits NULL the traits are not known. The key is 0 when code is "".
int content_code(int64_t *key, struct store *store, int64_t kernel, const char *code,
                 const struct traits *traits, struct error *err);
int content_series(int64_t *key, struct store *store, const struct series *series, int64_t kernel,
                   struct error *err); // the device must be known

// The key is 0 when this store does not know the series.
int content_find_series(int64_t *key, struct store *store, const struct series *series,
                        struct error *err);

int content_load_commit(struct commit *out, struct store *store, int64_t key, struct arena *arena,
                        struct error *err); // key 0: an empty commit
int content_load_traits(struct traits *out, struct store *store, const char *json,
                        struct error *err);
// Writes the JSON object that content_load_traits() reads. Traits that are 0 are left out.
void content_write_traits(struct json *json, const char *name, const struct traits *traits);
// Writes the parts of a prediction as a JSON array of names and times.
void content_write_parts(struct json *json, const char *name, const struct prediction *prediction);

// Writes a list as a JSON array, so that a statement can take it as one parameter. The caller
// frees.
char *content_json_list(size_t count, const char *(*get)(const void *list, size_t index),
                        const void *list);

#endif
