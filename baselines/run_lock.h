// SPDX-License-Identifier: Apache-2.0
//
// Whose an unfinished run is. A run that was interrupted is anybody's to go on with; one that is
// being measured belongs to its process, or two would write verdicts beside each other's samples.
// A process holds its runs by locks on STORE-runs, an empty file beside the store, at the byte of
// the run's number: the kernel lets go of them when the process ends, however it ends. Where a file
// system knows no locks, every unfinished run counts as interrupted.
#ifndef PLUMB_RUN_LOCK_H
#define PLUMB_RUN_LOCK_H

#include "baselines/statement.h"

// True when the run is this handle's now, until store_close(); false when it is another's.
bool run_lock_claim(struct store *store, int64_t run_id);
void run_lock_close(struct store *store);

#endif
