// SPDX-License-Identifier: Apache-2.0
//
// The table of statements, and the only place where they are prepared, bound, stepped and read.
// Statements for rare operations (opening, migrating, pruning) stand where they are used.
#include "baselines/statement.h"

#include "baselines/fields.h"
#include "baselines/judgement.h"
#include "baselines/store.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const statement_sql[STATEMENT_COUNT] = {
#define X(name, sql) sql,
#include "baselines/statement.inc"
#undef X
};

struct cell statement_text(const char *text)
{
    return (struct cell){.type = CELL_TEXT, .data = text ? text : ""};
}

struct cell statement_key(int64_t key)
{
    return key ? INT(key) : NOTHING;
}

// The errno that SQLite met. During a commit SQLite keeps only the one for the file, most often the
// log.
static int number_met(sqlite3 *db)
{
    int number = sqlite3_system_errno(db), of_file = 0;
    sqlite3_file *log = NULL;
    if (sqlite3_errcode(db) != SQLITE_IOERR)
        return number;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &of_file) == SQLITE_OK && of_file)
        number = of_file;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log &&
        log->pMethods &&
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &of_file) == SQLITE_OK && of_file)
        number = of_file;
    return number;
}

const char *store_limit(sqlite3 *db)
{
    const int met = number_met(db);
    return met == EMFILE   ? "too many open files; allow more by `ulimit -n 256`"
           : met == ENFILE ? "too many open files on this machine"
           : met == EFBIG  ? write_failure(met)
           : met == EDQUOT ? "the quota of disk space is used up"
                           : NULL;
}

int store_fail(struct store *store, struct error *err)
{
    const char *path = store->path;
    const char *said = sqlite3_errmsg(store->db), *limit = store_limit(store->db);
    switch (sqlite3_errcode(store->db)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(err, "store %s: locked by another process; wait for it or stop it", path);
    case SQLITE_FULL:
        return error_set(err,
                         "store %s: no space left on the disk; make room and run again, what "
                         "was saved is kept",
                         path);
    case SQLITE_CANTOPEN: // SQLite also reports this for a folder in which it may not make a log
        if (access(path, F_OK) == 0 && access(path, W_OK) && (errno == EROFS || errno == EACCES))
            return error_set(err,
                             "store %s: cannot be written (%s); give it a folder that can be, or "
                             "name another store by --store",
                             path, strerror(errno));
        return error_set(err, "store %s: %s", path, limit ? limit : said);
    case SQLITE_READONLY:
        return error_set(err, "store %s: cannot be written; check its permissions and its folder's",
                         path);
    case SQLITE_IOERR:
        if (limit)
            return error_set(err, "store %s: cannot be written: %s; what was saved is kept", path,
                             limit);
        return error_set(err,
                         "store %s: cannot be read or written (%s); make room or check the "
                         "disk and run again, what was saved is kept",
                         path, said);
    case SQLITE_NOTADB:
        return error_set(err,
                         "store %s: is no store, for it does not begin like one; name another, or "
                         "restore a copy if it was one",
                         path);
    case SQLITE_CORRUPT:
        return error_set(err,
                         "store %s: damaged (%s); restore a copy, or `plumb store merge` what "
                         "an export of it has into a new one",
                         path, said);
    case SQLITE_CONSTRAINT:
        return error_set(err, "store %s: refused a value that does not fit (%s)", path, said);
    default:
        return error_set(err, "store %s: %s", path, said);
    }
}

int store_damaged(struct store *store, const char *what, struct error *err)
{
    return error_set(err, "store %s: damaged, %s; `plumb store check` says more", store->path,
                     what);
}

// Binds a cell. This can only fail by misuse or for lack of memory; limits on lengths take effect
// in the step.
static int bind_cell(sqlite3_stmt *statement, int at, const struct cell *cell)
{
    switch (cell->type) {
    case CELL_NULL:
        return sqlite3_bind_null(statement, at);
    case CELL_INT:
        return sqlite3_bind_int64(statement, at, cell->integer);
    case CELL_REAL:
        return sqlite3_bind_double(statement, at, cell->real);
    case CELL_TEXT:
        return sqlite3_bind_text(statement, at, cell->data, -1, SQLITE_STATIC);
    case CELL_BLOB:
        return sqlite3_bind_blob64(statement, at, cell->data, (sqlite3_uint64)cell->integer,
                                   SQLITE_STATIC);
    }
    return SQLITE_MISUSE;
}

sqlite3_stmt *statement_bind(struct store *store, enum statement which, const struct cell *cells,
                             size_t count)
{
    if (!store->statements[which])
        sqlite3_prepare_v3(store->db, statement_sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                           &store->statements[which], NULL);
    sqlite3_stmt *statement = store->statements[which];
    assert(!statement || sqlite3_bind_parameter_count(statement) == (int)count);
    sqlite3_reset(statement);
    for (size_t i = 0; i < count; i++) {
        if (bind_cell(statement, (int)i + 1, &cells[i]))
            return NULL;
    }
    return statement;
}

int statement_step(struct store *store, sqlite3_stmt *statement, struct error *err)
{
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        return 1;
    int status = code == SQLITE_DONE ? 0 : store_fail(store, err);
    sqlite3_reset(statement);
    return status;
}

int statement_list(struct row_list *list, size_t size, row_reader *read, struct error *err)
{
    size_t room = 0;
    int status;
    list->items = NULL;
    list->count = 0;
    while ((status = statement_step(list->store, list->row, err)) > 0) {
        list->items = xgrow(list->items, list->count, &room, size);
        void *item = (char *)list->items + list->count * size;
        memset(item, 0, size);
        if (read(item, list, err)) {
            status = -1;
            break;
        }
        list->count++;
    }
    sqlite3_reset(list->row);
    void *grown = list->items;
    list->items = status == 0 ? arena_copy(list->arena, grown, list->count * size) : NULL;
    free(grown);
    return status;
}

int statement_run(struct store *store, struct error *err, enum statement which,
                  const struct cell *cells, size_t count)
{
    sqlite3_stmt *statement = statement_bind(store, which, cells, count);
    int status = statement_step(store, statement, err);
    sqlite3_reset(statement);
    return status < 0 ? -1 : 0;
}

int statement_get(int64_t *out, struct store *store, struct error *err, enum statement which,
                  const struct cell *cells, size_t count)
{
    sqlite3_stmt *statement = statement_bind(store, which, cells, count);
    int status = statement_step(store, statement, err);
    if (status < 0)
        return -1;
    *out = status ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_reset(statement);
    return 0;
}

int statement_key_of(int64_t *key, struct store *store, struct error *err, enum statement find,
                     size_t find_count, enum statement add, const struct cell *cells, size_t count)
{
    int64_t found;
    if (statement_get(&found, store, err, find, cells, find_count))
        return -1;
    if (!found) {
        if (statement_run(store, err, add, cells, count))
            return -1;
        found = sqlite3_last_insert_rowid(store->db);
    }
    *key = found;
    return 0;
}

int64_t row_int(sqlite3_stmt *row, int column)
{
    return sqlite3_column_int64(row, column);
}

bool row_null(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL;
}

double row_real(sqlite3_stmt *row, int column)
{
    return row_null(row, column) ? NAN : sqlite3_column_double(row, column);
}

const char *row_text(sqlite3_stmt *row, int column, struct arena *arena)
{
    const unsigned char *text = sqlite3_column_text(row, column);
    return text ? arena_strdup(arena, (const char *)text) : "";
}

bool row_copy(char *out, size_t size, sqlite3_stmt *row, int column)
{
    const unsigned char *text = sqlite3_column_text(row, column);
    return text_copy(out, size, text ? (const char *)text : "");
}
