// SPDX-License-Identifier: Apache-2.0
//
// What the units of a device took for the same code, and which of them is not like its sisters.
#ifndef PLUMB_UNIT_TIMES_H
#define PLUMB_UNIT_TIMES_H

#include "ci/gate/duets.h"
#include "ci/settings/context.h"

struct unit_times {
    struct unit_time *items;
    size_t count, capacity;
};
void unit_times_free(struct unit_times *times);

// Keeps what a duet's base took on each unit. `series` tells duets of the same code apart from
// others, by its address.
void unit_times_add(struct unit_times *times, const struct duet *duet, const void *series);
// Says which unit is faster or slower than the first by more than places account for, and leaves it
// in its `odd`. `first` is the first of the device's units.
void unit_times_tell(struct unit_times *times, struct context *context,
                     struct context_device *first);

#endif
