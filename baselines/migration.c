// SPDX-License-Identifier: Apache-2.0
//
// Brings a store to the newest version of the schema, and refuses one whose tables are not what the
// migrations make.
#include "baselines/migration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(name) extern const unsigned char migration_##name[];
#include "baselines/migrations.inc"
#undef X

#define X(name) migration_##name,
static const unsigned char *const migrations[] = {
#include "baselines/migrations.inc"
};
#undef X

int migration_count(void)
{
    return (int)ARRAY_COUNT(migrations);
}

static const char *migration_sql(int index)
{
    return (const char *)migrations[index];
}

int migration_pragma(int64_t *out, struct store *store, const char *sql, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    int64_t value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    int status = code == SQLITE_ROW ? 0 : store_fail(store, err);
    sqlite3_finalize(statement);
    if (status == 0)
        *out = value;
    return status;
}

static int run_script(struct store *store, const char *sql, struct error *err)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) ? store_fail(store, err) : 0;
}

// Another process may have migrated between our look at the version and our lock: look again.
static int apply_next(bool *more, struct store *store, struct error *err)
{
    int64_t version;
    char stamp[128];
    if (run_script(store, "BEGIN IMMEDIATE", err))
        return -1;
    if (migration_pragma(&version, store, "PRAGMA user_version", err))
        goto undo;
    if (version >= migration_count()) {
        *more = false;
        return run_script(store, "COMMIT", err);
    }
    snprintf(stamp, sizeof(stamp), "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
             STORE_APPLICATION_ID, (int)version + 1);
    if (run_script(store, migration_sql((int)version), err) || run_script(store, stamp, err))
        goto undo;
    *more = true;
    return 0;
undo:
    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

int migration_apply(struct store *store, struct error *err)
{
    bool more = true;
    while (more) {
        if (apply_next(&more, store, err))
            return -1;
    }
    return 0;
}

// The schema as one text; NULL on failure. The caller frees.
static char *schema_text(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    char *text = NULL;
    const char *sql = "SELECT group_concat(type || ' ' || name || ' ' || tbl_name || ' ' || "
                      "ifnull(sql, ''), char(10)) FROM (SELECT * FROM sqlite_schema WHERE name "
                      "NOT LIKE 'sqlite~_stat%' ESCAPE '~' ORDER BY type, name)";
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
        text = xstrdup((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return text;
}

static char *expected_schema(void)
{
    sqlite3 *db = NULL;
    char *text = NULL;
    bool made = sqlite3_open(":memory:", &db) == SQLITE_OK;
    for (int i = 0; made && i < migration_count(); i++)
        made = sqlite3_exec(db, migration_sql(i), NULL, NULL, NULL) == SQLITE_OK;
    if (made)
        text = schema_text(db);
    sqlite3_close(db);
    return text;
}

int migration_verify(struct store *store, struct error *err)
{
    static char *expected; // running all migrations takes milliseconds: once per process
    expected = expected ? expected : expected_schema();
    char *found = schema_text(store->db);
    int status = 0;
    if (!expected)
        status = error_set(err, "this program's migrations do not run; it is built wrongly");
    else if (!found && sqlite3_errcode(store->db) != SQLITE_DONE &&
             sqlite3_errcode(store->db) != SQLITE_OK && sqlite3_errcode(store->db) != SQLITE_ROW)
        status = store_fail(store, err);
    else if (!found || strcmp(found, expected) != 0)
        status = error_set(err,
                           "store %s: its tables are not those of version %d; another program "
                           "changed them, restore a copy",
                           store->path, migration_count());
    free(found);
    return status;
}
