// SPDX-License-Identifier: Apache-2.0
//
// Statements by their texts. The linker puts each __wrap_x in the place of x, which stays __real_x.
#include "tests/fuzz/kept_statements.h"

#include "baselines/statement.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum { SLOTS = 8192 };

// By the text's hash, which is taken for it: to compare texts would take as long as the statements.
// In use from being asked for until it is given back.
static struct slot {
    uint64_t hash;
    sqlite3_stmt *statement;
    bool used;
} slots[SLOTS];
// By the statement's address.
static struct slot *owners[SLOTS];
static bool merging, made;

int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int size, sqlite3_stmt **out,
                              const char **tail);
int __real_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int size, sqlite3_stmt **out,
                              const char **tail);
int __wrap_sqlite3_finalize(sqlite3_stmt *statement);
int __real_sqlite3_finalize(sqlite3_stmt *statement);
int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*each)(void *, int, char **, char **),
                        void *context, char **message);
int __real_sqlite3_exec(sqlite3 *db, const char *sql, int (*each)(void *, int, char **, char **),
                        void *context, char **message);
int __wrap_store_verify(const char *path, struct error *err);
int __real_store_verify(const char *path, struct error *err);
int __wrap_transaction_begin(struct store *store, struct error *err);
int __real_transaction_begin(struct store *store, struct error *err);
int __wrap_transaction_end(struct store *store, int status, struct error *err);
int __real_transaction_end(struct store *store, int status, struct error *err);

// FNV-1a.
static uint64_t hash_of(const char *sql)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = sql; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    return hash;
}

static struct slot *slot_of(const char *sql)
{
    const uint64_t hash = hash_of(sql);
    size_t i = hash % SLOTS;
    while (slots[i].statement && slots[i].hash != hash)
        i = (i + 1) % SLOTS;
    slots[i].hash = hash;
    return &slots[i];
}

static struct slot **owner_of(sqlite3_stmt *statement)
{
    size_t i = (uintptr_t)statement / 64 % SLOTS;
    while (owners[i] && owners[i]->statement != statement)
        i = (i + 1) % SLOTS;
    return &owners[i];
}

static void discard(void)
{
    for (size_t i = 0; i < SLOTS; i++)
        __real_sqlite3_finalize(slots[i].statement);
}

sqlite3_stmt *kept_statement(sqlite3 *db, const char *sql)
{
    static size_t count;
    struct slot *slot = slot_of(sql);
    if (!slot->statement) {
        must(++count < SLOTS / 2, "more statements than there is room for");
        must(count > 1 || atexit(discard) == 0, "atexit");
        must(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &slot->statement, NULL) ==
                 SQLITE_OK,
             sqlite3_errmsg(db));
        *owner_of(slot->statement) = slot;
    }
    must(!slot->used, "a statement is used in itself");
    slot->used = true;
    return slot->statement;
}

void kept_reset(sqlite3_stmt *statement)
{
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    (*owner_of(statement))->used = false;
}

int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int size, sqlite3_stmt **out,
                              const char **tail)
{
    if (!merging)
        return __real_sqlite3_prepare_v2(db, sql, size, out, tail);
    *out = kept_statement(db, strcmp(sql, "ATTACH ? AS shard") ? sql : "SELECT 1 WHERE ? IS NULL");
    return SQLITE_OK;
}

int __wrap_sqlite3_finalize(sqlite3_stmt *statement)
{
    if (!merging)
        return __real_sqlite3_finalize(statement);
    if (statement)
        kept_reset(statement);
    return SQLITE_OK;
}

static int run(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = kept_statement(db, sql);
    int code;
    do
        code = sqlite3_step(statement);
    while (code == SQLITE_ROW);
    kept_reset(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*each)(void *, int, char **, char **),
                        void *context, char **message)
{
    static const char create[] = "CREATE TEMP TABLE ";
    if (!merging)
        return __real_sqlite3_exec(db, sql, each, context, message);
    must(!each && !message, "nobody is told of rows");
    if (strncmp(sql, "DROP TABLE ", 11) == 0 || strcmp(sql, "DETACH shard") == 0)
        return SQLITE_OK;
    if (strncmp(sql, create, strlen(create)) != 0)
        return run(db, sql);
    if (!made)
        return __real_sqlite3_exec(db, sql, NULL, NULL, NULL);
    char empty[100];
    const char *name = sql + strlen(create);
    snprintf(empty, sizeof(empty), "DELETE FROM temp.%.*s", (int)strcspn(name, " ("), name);
    return run(db, empty);
}

int __wrap_store_verify(const char *path, struct error *err)
{
    return merging ? 0 : __real_store_verify(path, err);
}

int __wrap_transaction_begin(struct store *store, struct error *err)
{
    if (merging && !made)
        return 0;
    store->batch = store->batch || merging;
    return __real_transaction_begin(store, err);
}

int __wrap_transaction_end(struct store *store, int status, struct error *err)
{
    if (merging && !made)
        return status;
    status = __real_transaction_end(store, status, err);
    store->batch = store->batch && !merging;
    return status;
}

int kept_merge(struct store *store, struct error *err)
{
    merging = true;
    const int status = store_merge(store, "shard", NULL, err);
    merging = false;
    made = true;
    return status;
}
