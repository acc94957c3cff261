// SPDX-License-Identifier: Apache-2.0
//
// Devices that were taken out, and who brought them back: entries that are added and never changed,
// of which the newest counts.

#ifndef PLUMB_BASELINES_STORE_DEVICE_H
#define PLUMB_BASELINES_STORE_DEVICE_H

#include "baselines/store.h"

struct device_entry_state {
    bool out; // nothing is measured on it
    int64_t when_s;
    const char *who; // "plumb" for the tool itself
    const char *why;
};

// *found: the newest entry of a device that was ever taken out. In the arena.
int store_device_state(struct device_entry_state *out, bool *found, struct store *store,
                       const char *uuid, struct arena *arena, struct error *err);

// How many plain runs on the device began at `since_s` or later and have ended.
int store_device_runs(int64_t *out, struct store *store, const char *uuid, int64_t since_s,
                      struct error *err);

// Adds an entry of a device that the store knows; -1 when it does not.
int store_set_device_state(struct store *store, const char *uuid,
                           const struct device_entry_state *state, struct error *err);

// Controls that do not work any more in the newest plain run of a device, though the same code did
// under the driver that is there now.
struct control_failures {
    size_t wrong, lost;   // lost: crashed or timed out
    size_t controls;      // of the run
    const char *examples; // "KERNEL PROBLEM", of the first; "" none
};

int store_control_failures(struct control_failures *out, struct store *store, const char *uuid,
                           struct arena *arena, struct error *err);

#endif
