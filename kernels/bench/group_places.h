// SPDX-License-Identifier: Apache-2.0
//
// Where the rows of a problem's groups lie in A and C (kernel.h, enum plumb_grouping).
#ifndef PLUMB_GROUP_PLACES_H
#define PLUMB_GROUP_PLACES_H

#include "kernels/device/device.h"

struct group_places {
    int32_t first[GROUPS_MOST], rows[GROUPS_MOST];
};

// Of a problem that has groups.
void group_places_of(struct group_places *out, const struct problem *problem);

// Zeros in the rows of A or C, `bytes` of device memory, that are no group's; nothing without
// groups. -1: the device failed.
int group_places_clear(const struct device_ops *ops, struct device_base *device, void *memory,
                       size_t bytes, const struct problem *problem, struct error *err);

#endif
