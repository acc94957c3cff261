// SPDX-License-Identifier: Apache-2.0
//
// Refused before anything runs: a kernel whose name would break lines and paths.
#include "tests/modules/idle.h"

static const struct plumb_kernel kernel = {
    .name = "../Right name", .supports = idle_supports, .launch = idle_launch};

PLUMB_EXPORT const struct plumb_library *plumb_library(void)
{
    static const struct plumb_library library = {PLUMB_ABI_VERSION, sizeof(struct plumb_kernel),
                                                 "host", 1, &kernel};
    return &library;
}
