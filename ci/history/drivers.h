// SPDX-License-Identifier: Apache-2.0
//
// The drivers that a store's devices had, one after the other, and how much each new one moved the
// same code (model/history/driver_shift.h).
#ifndef PLUMB_CI_DRIVERS_H
#define PLUMB_CI_DRIVERS_H

#include "ci/history/load.h"
#include "model/history/device.h"

struct driver_step {
    const char *device_uuid, *device_name;
    const char *from, *to;
    struct driver_shift shift;
    bool levelled; // no code was timed under both: what links say of the codes was taken off
};
struct driver_steps {
    struct driver_step *items; // device by device, in the order of measuring
    size_t count;
};
// Of the series that `wanted` names, by its globs, or of the controls among them, which need no
// links. A driver that comes back counts anew. In the arena.
int drivers_find(struct driver_steps *out, struct store *store, const struct history_wanted *wanted,
                 bool controls, struct arena *arena, struct error *err);

#endif
