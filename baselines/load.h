// SPDX-License-Identifier: Apache-2.0
//
// Loading single rows, for the room's own use.
#ifndef PLUMB_LOAD_H
#define PLUMB_LOAD_H

#include "baselines/statement.h"

// key 0: an absent measurement. A measurement whose samples were pruned has one sample that stands
// for all: its time and clock.
int load_measurement(struct measurement *out, struct store *store, int64_t key, struct arena *arena,
                     struct error *err);
int load_build(struct build_record *out, struct store *store, int64_t key, struct arena *arena,
               struct error *err);

#endif
