// SPDX-License-Identifier: Apache-2.0
//
// The store stands in a file, the empty one beside it in memory.
#include "tests/fuzz/one_store.h"
#include "baselines/store_open.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/pool.h"

static struct store *store;
static sqlite3 *empty;

static void copy(sqlite3 *to, sqlite3 *from)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    must(backup && sqlite3_backup_step(backup, -1) == SQLITE_DONE, sqlite3_errmsg(to));
    sqlite3_backup_finish(backup);
}

static void discard(void)
{
    store_close(store);
    sqlite3_close(empty);
}

struct store *one_store(void)
{
    struct error err;
    if (store)
        return store;
    pool_use();
    must(store_open(&store, fuzz_path("store.db"), STORE_WRITE, &err) == 0, err.text);
    must(sqlite3_open(":memory:", &empty) == SQLITE_OK, "no memory");
    copy(empty, store->db);
    must(atexit(discard) == 0, "atexit");
    return store;
}

void one_store_empty(void)
{
    copy(store->db, empty);
}
