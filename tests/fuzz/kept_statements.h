// SPDX-License-Identifier: Apache-2.0
//
// Merging without parsing: the linker leads what the store's code asks of SQLite through here, and
// each statement is kept by its text. A merge's temporary tables stay and are emptied; the shard is
// attached already; a merge is a savepoint in the caller's transaction.
#ifndef PLUMB_TESTS_FUZZ_KEPT_STATEMENTS_H
#define PLUMB_TESTS_FUZZ_KEPT_STATEMENTS_H

#include "baselines/store.h"

#include <sqlite3.h>

// Ready to be bound and stepped; kept_reset() gives it back.
sqlite3_stmt *kept_statement(sqlite3 *db, const char *sql);
void kept_reset(sqlite3_stmt *statement);

// store_merge() of what is attached as `shard`. The first call, outside of a transaction, makes the
// temporary tables.
int kept_merge(struct store *store, struct error *err);

#endif
