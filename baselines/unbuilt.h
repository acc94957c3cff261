// SPDX-License-Identifier: Apache-2.0
//
// Commits of a run that do not build, for the room's own use: inside a transaction.
#ifndef PLUMB_BASELINES_UNBUILT_H
#define PLUMB_BASELINES_UNBUILT_H

#include "baselines/statement.h"

// The errors as the store and the exchange hold them. The caller frees.
char *unbuilt_errors_text(const struct build_failure *failure);
// Reads them back; false when that is no such text.
bool unbuilt_errors_parse(struct build_failure *out, const char *text, struct arena *arena);
int save_unbuilt(struct store *store, const struct run *run, struct error *err);
// Fills run->unbuilt; the run's id and arena are there.
int load_unbuilt(struct run *run, struct store *store, struct error *err);

#endif
