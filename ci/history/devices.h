// SPDX-License-Identifier: Apache-2.0
//
// What happened to devices: the changes that a driver made to many series at once, and devices
// that are sick.
#ifndef PLUMB_DEVICES_H
#define PLUMB_DEVICES_H

#include "baselines/store.h"
#include "ci/history/load.h"
#include "model/history/device.h"

// ==== what a driver changed ====
//
// The drivers that a store's devices had, one after the other, and how much each new one moved the
// same code (model/history/driver_shift.h).

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

// ==== devices that are sick ====
//
// Sick devices: found by their controls in what is stored, taken out, and left alone until a person
// clears them.

struct sick_finding {
    const char *uuid, *name;
    bool gpu;
    bool known; // its controls suffice for a judgement
    bool sick;
    bool out;        // it was taken out before; then it is not judged again
    const char *why; // one sentence without a point; of what is not known, what is missing
};
// Judges each device that was measured by its newest runs; what was imported is not. `margin`: how
// much slower its controls may be, relative, 0: not judged. In the arena.
int sick_find(struct sick_finding **out, size_t *count, struct store *store, double margin,
              struct arena *arena, struct error *err);

#endif
