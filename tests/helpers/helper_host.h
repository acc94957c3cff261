// SPDX-License-Identifier: Apache-2.0
//
// The host device, opened in the test's own process.
#ifndef PLUMB_HELPER_HOST_H
#define PLUMB_HELPER_HOST_H

#include "kernels/device/device.h"

extern const struct device_ops *host;
extern struct device_base *device; // open from set-up to tear-down
int host_set_up(void **state);
int host_tear_down(void **state);

#endif
