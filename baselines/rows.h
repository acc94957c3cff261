// SPDX-License-Identifier: Apache-2.0
//
// Saving and loading single rows, for the room's own use: inside a transaction of the caller.
#ifndef PLUMB_BASELINES_ROWS_H
#define PLUMB_BASELINES_ROWS_H

#include "baselines/statement.h"

// A run with a uid of the caller's choice, and its end.
int save_run(int64_t *run_id, struct store *store, const struct run *run, const char *uid,
             struct error *err);
int save_finish(struct store *store, const struct run *run, int64_t finished_s, struct error *err);
int save_profile(struct store *store, const struct device *device, const struct gpu *gpu,
                 int64_t measured_s, struct error *err);

// key 0: an absent measurement. A measurement whose samples were pruned has one sample that stands
// for all: its time and clock.
int load_measurement(struct measurement *out, struct store *store, int64_t key, struct arena *arena,
                     struct error *err);
int load_build(struct build_record *out, struct store *store, int64_t key, struct arena *arena,
               struct error *err);

// Whether the verdicts of a study add up to its gates.
bool study_sound(const struct study_result *study);

// The errors of a commit that does not build, as the store and the exchange hold them. The caller
// frees.
char *unbuilt_errors_text(const struct build_failure *failure);
// Reads them back; false when that is no such text.
bool unbuilt_errors_parse(struct build_failure *out, const char *text, struct arena *arena);

#endif
