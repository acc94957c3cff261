// SPDX-License-Identifier: Apache-2.0
//
// Refused before anything runs: a kernel library of a later ABI version.
#include "tests/modules/idle.h"

static const struct plumb_kernel kernel = {
    .name = "right", .supports = idle_supports, .launch = idle_launch};

PLUMB_EXPORT const struct plumb_library *plumb_library(void)
{
    static const struct plumb_library library = {
        PLUMB_ABI_FORMS + 1, sizeof(struct plumb_form_kernel), "host", 1, &kernel};
    return &library;
}
