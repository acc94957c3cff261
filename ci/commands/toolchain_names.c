// SPDX-License-Identifier: Apache-2.0
//
// Collects them.
#include "ci/commands/toolchain_names.h"
#include "model/result.h"

#include <string.h>

int toolchain_names_add(struct toolchain_names *names, const char *name)
{
    if (!toolchain_name_sound(name) || names->count == TOOLCHAIN_NAMES)
        return -1;
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->names[i], name) == 0)
            return -1;
    }
    names->names[names->count++] = name;
    return 0;
}
