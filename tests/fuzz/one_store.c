// SPDX-License-Identifier: Apache-2.0
//
// The store stands in a file. It is emptied table by table: to write an empty one over it would
// change its schema, and SQLite would parse every statement again for the next input.
#include "tests/fuzz/one_store.h"
#include "baselines/statement.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/pool.h"

#include <string.h>

enum { TABLES_MOST = 100 };

static struct store *store;
static sqlite3_stmt *deletions[TABLES_MOST];
static size_t table_count;

static void discard(void)
{
    for (size_t i = 0; i < table_count; i++)
        sqlite3_finalize(deletions[i]);
    store_close(store);
}

static void run(const char *sql)
{
    must(sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK, sqlite3_errmsg(store->db));
}

static sqlite3_stmt *prepare(const char *sql)
{
    sqlite3_stmt *made = NULL;
    must(sqlite3_prepare_v2(store->db, sql, -1, &made, NULL) == SQLITE_OK,
         sqlite3_errmsg(store->db));
    return made;
}

static void prepare_deletions(void)
{
    sqlite3_stmt *names = prepare("SELECT 'DELETE FROM ' || name FROM sqlite_schema "
                                  "WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
    while (sqlite3_step(names) == SQLITE_ROW) {
        must(table_count < TABLES_MOST, "more tables than there is room for");
        deletions[table_count++] = prepare((const char *)sqlite3_column_text(names, 0));
    }
    sqlite3_finalize(names);
}

struct store *one_store(void)
{
    struct error err;
    if (store)
        return store;
    pool_use();
    must(store_open(&store, fuzz_path("store.db"), STORE_WRITE, &err) == 0, err.text);
    // Alone, and with small pages: each that is written is copied, so that it can be rolled back.
    run("PRAGMA main.locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = "
        "OFF; "
        "PRAGMA page_size = 1024; VACUUM");
    prepare_deletions();
    must(atexit(discard) == 0, "atexit");
    return store;
}

// Whether it could be: what others point at goes after them.
static bool empty_table(sqlite3_stmt *deletion)
{
    const int status = sqlite3_step(deletion);
    sqlite3_reset(deletion);
    must(status == SQLITE_DONE || status == SQLITE_CONSTRAINT, sqlite3_errmsg(store->db));
    return status == SQLITE_DONE;
}

// A table that must wait is last from then on. Foreign keys stay on: to let them be would expire
// every statement, too.
void one_store_empty(void)
{
    size_t waited = 0;
    run("BEGIN");
    for (size_t i = 0; i < table_count;) {
        if (empty_table(deletions[i])) {
            i++;
            continue;
        }
        must(++waited < TABLES_MOST * TABLES_MOST, "tables point at each other");
        sqlite3_stmt *late = deletions[i];
        memmove(&deletions[i], &deletions[i + 1], (table_count - i - 1) * sizeof(deletions[0]));
        deletions[table_count - 1] = late;
    }
    run("COMMIT");
}
