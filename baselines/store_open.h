// SPDX-License-Identifier: Apache-2.0
//
// Opening: is it ours, is it our version, is it whole, and only then is it used.
#ifndef PLUMB_BASELINES_STORE_OPEN_H
#define PLUMB_BASELINES_STORE_OPEN_H

#include "baselines/statement.h"

// The process that an unfinished run belongs to. A run that was interrupted is anybody's to go on
// with; one that is being measured belongs to its process, or two would write verdicts beside each
// other's samples. A process holds its runs by locks on STORE-runs, an empty file beside the store,
// at the byte of the run's number: the kernel lets go of them when the process ends, however it
// ends. Where a file system knows no locks, every unfinished run counts as interrupted.

// True when the run is this handle's now, until store_close(); false when it is another's.
bool run_lock_claim(struct store *store, int64_t run_id);

// The schema's versions: migrations/000N_*.sql, embedded at build. A version without a file adds
// the columns of the fields that are since then (fields.h). The newest is PRAGMA user_version of a
// store that has them all.

int migration_count(void);
// What they make of nothing, as one text; NULL: they do not run. The caller frees.
char *migration_schema(void);

// Checks a file as store_open() does before it reads one: is it a store, of this version, with our
// tables?
int store_verify(const char *path, struct error *err);

// One pragma's integer value.
int migration_pragma(int64_t *out, struct store *store, const char *sql, struct error *err);

#endif
