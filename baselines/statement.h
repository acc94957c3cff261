// SPDX-License-Identifier: Apache-2.0
//
// The inside of a store handle, and the only way its room talks to SQLite: every statement is in
// the table of statement.c, prepared when it is first asked for (a process asks for few of them; a
// test prepares all), and run with typed cells.
#ifndef PLUMB_STATEMENT_H
#define PLUMB_STATEMENT_H

#include "baselines/store.h"

#include <sqlite3.h>

enum statement {
#define X(name, sql) SQL_##name,
#include "baselines/statement.inc"
#undef X
    STATEMENT_COUNT
};

enum { STORE_MARK_TEXT = 160 };
struct store {
    sqlite3 *db;
    char *path;
    enum store_mode mode;
    bool batch;
    bool runs_open;
    int runs; // descriptor of store_open.c
    // Used where machines do not see each other's locks: the file that says which machine writes,
    // the text that it has for this one, and its descriptor. NULL elsewhere.
    char *mark_path, *mark;
    int mark_file;
    sqlite3_stmt *statements[STATEMENT_COUNT];
};

// A value to bind.
struct cell {
    enum { CELL_NULL, CELL_INT, CELL_REAL, CELL_TEXT, CELL_BLOB } type;
    int64_t integer; // a blob's length
    double real;
    const void *data;
};
#define INT(value)  ((struct cell){.type = CELL_INT, .integer = (int64_t)(value)})
#define REAL(value) ((struct cell){.type = CELL_REAL, .real = (value)})
#define TEXT(value) statement_text(value)
#define BLOB(bytes, length)                                                                        \
    ((struct cell){.type = CELL_BLOB, .data = (bytes), .integer = (int64_t)(length)})
#define KEY(value) statement_key(value)
#define NOTHING    ((struct cell){.type = CELL_NULL})
#define CELLS(...)                                                                                 \
    (const struct cell[]){__VA_ARGS__}, ARRAY_COUNT(((const struct cell[]){__VA_ARGS__}))

struct cell statement_text(const char *text); // NULL becomes ''
struct cell statement_key(int64_t key);       // 0 becomes NULL

void statement_finalize_all(struct store *store);

// The statement with its cells bound, ready to step. Texts and blobs are borrowed until it is done.
// NULL where it could not be prepared: the step then says why.
sqlite3_stmt *statement_bind(struct store *store, enum statement which, const struct cell *cells,
                             size_t count);
// 1: a row is there; 0: the end; -1: failed. At the end and on failure the statement is reset.
int statement_step(struct store *store, sqlite3_stmt *statement, struct error *err);
// Runs a statement that gives no rows.
int statement_run(struct store *store, struct error *err, enum statement which,
                  const struct cell *cells, size_t count);
// The first column of the first row, or 0 if there is no row.
int statement_get(int64_t *out, struct store *store, struct error *err, enum statement which,
                  const struct cell *cells, size_t count);
// The key of a row found by content, added if missing: `find` takes the first find_count cells and
// returns the key, `add` takes all.
int statement_key_of(int64_t *key, struct store *store, struct error *err, enum statement find,
                     size_t find_count, enum statement add, const struct cell *cells, size_t count);

// All rows of a statement, each read into an item of so many bytes. The caller fills the first
// members; a reader also sees the items before its own.
struct row_list {
    struct store *store;
    sqlite3_stmt *row;   // the statement, bound; while it is read, the row
    struct arena *arena; // gets the items, and their texts
    const void *given;   // what else the reader must know, or NULL
    void *items;         // in the arena; on failure there are none
    size_t count;
};
typedef int row_reader(void *item, const struct row_list *list, struct error *err);
int statement_list(struct row_list *list, size_t size, row_reader *read, struct error *err);

// Rows. Texts end up in the arena; a NULL real is NaN, a NULL text is "".
int64_t row_int(sqlite3_stmt *row, int column);
double row_real(sqlite3_stmt *row, int column);
const char *row_text(sqlite3_stmt *row, int column, struct arena *arena);
bool row_copy(char *out, size_t size, sqlite3_stmt *row, int column); // false: did not fit
bool row_null(sqlite3_stmt *row, int column);

// Writes the error text that fits what SQLite last said of this store; returns -1.
int store_fail(struct store *store, struct error *err);
// The limit that kept SQLite from opening or writing a file, for it says the same of all causes;
// NULL: none.
const char *store_limit(sqlite3 *db);
// Says that a value is none that this program can have written; returns -1.
int store_damaged(struct store *store, const char *what, struct error *err);

// A path as an URI, so that a `?` or `%` in it stays a part of the name. The caller frees.
char *store_uri(const char *path, const char *options);

// Whether the file at mark_path still names this machine; the check makes it as new as a write.
bool mark_is_ours(const struct store *store);

// One transaction around a save: a real one, or a savepoint inside a batch. transaction_end commits
// when `status` is 0 and undoes all when not; returns the final status.
int transaction_begin(struct store *store, struct error *err);
int transaction_end(struct store *store, int status, struct error *err);

// ==== opening ====

// The process that an unfinished run belongs to. Anybody may go on with a run that was interrupted;
// a run that is being measured belongs to its process, or two would write verdicts beside each
// other's samples. A process holds its runs by locks on STORE-runs, an empty file beside the store,
// at the byte of the run's number: the kernel releases them when the process ends, however it ends.
// Where a file system knows no locks, every unfinished run counts as interrupted.

// True when the run is this handle's now, until store_close(); false when it is another's.
bool run_lock_claim(struct store *store, int64_t run_id);

// The schema's versions: migrations/000N_*.sql, embedded at build. A version without a file adds
// the columns of the fields that are since then (fields.h). The newest is PRAGMA user_version of a
// store that has them all.

int migration_count(void);
// The schema that migrations make of an empty database; NULL: they do not run. Caller frees.
char *migration_schema(void);

// Checks a file as store_open() does before it reads one: is it a store, of this version, with our
// tables?
int store_verify(const char *path, struct error *err);

#endif
