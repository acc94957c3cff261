// SPDX-License-Identifier: Apache-2.0
//
// plumb bisect --drivers: which driver changed a device's times, by what is stored of each.
#ifndef PLUMB_BISECT_DRIVERS_H
#define PLUMB_BISECT_DRIVERS_H

#include "ci/settings/context.h"

// Nothing is measured: no machine has two drivers. `kernel` and `problem` are one series, or NULL.
// *out is 0 when a driver is found, else 2.
int bisect_drivers(enum conclusion *out, struct context *context, const struct options *options,
                   const char *kernel, const char *problem, bool as_json, struct error *err);

#endif
