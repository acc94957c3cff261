// SPDX-License-Identifier: Apache-2.0
//
// Refused before anything runs: a library for a device that is not there.
#include "tests/modules/idle.h"

static const struct plumb_kernel kernel = {
    .name = "right", .supports = idle_supports, .launch = idle_launch};

PLUMB_EXPORT const struct plumb_library *plumb_library(void)
{
    static const struct plumb_library library = {PLUMB_ABI_VERSION, sizeof(struct plumb_kernel),
                                                 "abacus", 1, &kernel};
    return &library;
}
