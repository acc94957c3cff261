// SPDX-License-Identifier: Apache-2.0
//
// The schema's versions: migrations/000N_*.sql, embedded at build, in order of their names. The
// number of migrations is PRAGMA user_version of a store that has them all.
#ifndef PLUMB_MIGRATION_H
#define PLUMB_MIGRATION_H

#include "baselines/statement.h"

enum { STORE_APPLICATION_ID = 0x706c756d }; // "plum", PRAGMA application_id

int migration_count(void);

// Applies what is missing, each migration in one transaction with its version number.
int migration_apply(struct store *store, struct error *err);

// Fails unless the file's schema is, text by text, what the migrations make: no view, trigger or
// table of other origin is ever run. Indexes SQLite makes for itself and ANALYZE's tables may be
// there.
int migration_verify(struct store *store, struct error *err);

// What store_open() asks of a file before it is read: is it a store, of this version, with our
// tables. Nothing is prepared for reading it, which takes four fifths of opening one.
int store_verify(const char *path, struct error *err);

// One pragma's integer value.
int migration_pragma(int64_t *out, struct store *store, const char *sql, struct error *err);

#endif
