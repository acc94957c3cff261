// SPDX-License-Identifier: Apache-2.0
//
// Saving, for the room's own use: inside a transaction, with a uid of the caller's choice.
#ifndef PLUMB_SAVE_H
#define PLUMB_SAVE_H

#include "baselines/statement.h"

int save_run(int64_t *run_id, struct store *store, const struct run *run, const char *uid,
             struct error *err);
int save_finish(struct store *store, const struct run *run, int64_t finished_s, struct error *err);
int save_profile(struct store *store, const struct device *device, const struct gpu *gpu,
                 int64_t measured_s, struct error *err);

#endif
