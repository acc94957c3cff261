// SPDX-License-Identifier: Apache-2.0
//
// The inside of a store handle, and the only way in which this room talks to SQLite. The table in
// statement.c holds every statement. A statement is prepared when it is first needed, because a
// process needs few of them (a test prepares all), and it is run with typed cells.
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
    int runs; // file descriptor that store_run.c uses for the runs' locks
    // Used on file systems where machines do not see each other's locks, NULL elsewhere: the path
    // of a file that says which machine writes, the text that this machine puts there, and the
    // file's descriptor.
    char *mark_path, *mark;
    int mark_file;
    sqlite3_stmt *statements[STATEMENT_COUNT];
};

// A value that is bound to a parameter of a statement.
struct cell {
    enum { CELL_NULL, CELL_INT, CELL_REAL, CELL_TEXT, CELL_BLOB } type;
    int64_t integer; // an integer, or the length of a blob
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

// Prepares the statement if needed and binds its cells, so that statement_step() can run it. Texts
// and blobs are borrowed until it is reset. NULL: it could not be prepared, or a cell not be bound;
// statement_step() then reports why.
sqlite3_stmt *statement_bind(struct store *store, enum statement which, const struct cell *cells,
                             size_t count);
// Runs the statement to its next row. 1: there is a row; 0: there are no more; -1: it failed. At
// the end and on failure the statement is reset.
int statement_step(struct store *store, sqlite3_stmt *statement, struct error *err);
// Runs a statement that returns no rows.
int statement_run(struct store *store, struct error *err, enum statement which,
                  const struct cell *cells, size_t count);
// Returns the first column of the first row, or 0 if there is no row.
int statement_get(int64_t *out, struct store *store, struct error *err, enum statement which,
                  const struct cell *cells, size_t count);
// Finds a row by its content, or adds it, and returns its key. The statement `find` takes the first
// find_count cells and returns the key; the statement `add` takes all cells.
int statement_key_of(int64_t *key, struct store *store, struct error *err, enum statement find,
                     size_t find_count, enum statement add, const struct cell *cells, size_t count);

// Reads all rows of a statement, each into an item of `size` bytes. The caller fills the first
// members. The function that reads a row also sees the items before its own.
struct row_list {
    struct store *store;
    sqlite3_stmt *row;   // the statement with its cells bound; while a row is read, that row
    struct arena *arena; // holds the items and their texts
    const void *given;   // anything else that the reading function needs, or NULL
    void *items;         // in the arena; NULL on failure
    size_t count;
};
typedef int row_reader(void *item, const struct row_list *list, struct error *err);
int statement_list(struct row_list *list, size_t size, row_reader *read, struct error *err);

// Reads columns of a row. Texts are copied into the arena; a NULL real becomes NaN, a NULL text "".
int64_t row_int(sqlite3_stmt *row, int column);
double row_real(sqlite3_stmt *row, int column);
const char *row_text(sqlite3_stmt *row, int column, struct arena *arena);
bool row_copy(char *out, size_t size, sqlite3_stmt *row, int column); // false: the text did not fit
bool row_null(sqlite3_stmt *row, int column);

// Writes an error from what SQLite last reported for this store; returns -1.
int store_fail(struct store *store, struct error *err);
// Names the resource limit (of files or of a file's size) that kept SQLite from opening or writing
// a file, because SQLite reports all such causes alike. NULL: it was none.
const char *store_limit(sqlite3 *db);
// Reports a value that this program cannot have written; returns -1.
int store_damaged(struct store *store, const char *what, struct error *err);

// Makes a URI of a path, so that a `?` or `%` in it stays a part of the name. The caller frees.
char *store_uri(const char *path, const char *options);

// Encloses a save in a transaction, or in a savepoint when a batch is open. transaction_end()
// commits when `status` is 0 and undoes everything when it is not; it returns the final status.
int transaction_begin(struct store *store, struct error *err);
int transaction_end(struct store *store, int status, struct error *err);

// ==== opening ====

// The versions of the schema: migrations/000N_*.sql, embedded at build. A version without such a
// file adds the columns of the fields that came with it (fields.h). PRAGMA user_version of a store
// is the newest version that was applied.

int migration_count(void);
// Returns the schema that the migrations make in an empty database. NULL: a migration failed. The
// caller frees.
char *migration_schema(void);

// Checks a file as store_open() does before it reads one: is it a store, of this version, with our
// tables?
int store_verify(const char *path, struct error *err);

#endif
