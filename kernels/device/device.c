// SPDX-License-Identifier: Apache-2.0
//
// Finds a kind of device among those of this build.
#include "kernels/device/device.h"

#include <string.h>

static const struct device_ops *const devices[] = {
#define X(symbol) &symbol,
#include "kernels/devices.inc"
#undef X
};

const struct device_ops *device_find(const char *text, const char **index)
{
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    for (size_t i = 0; i < ARRAY_COUNT(devices); i++) {
        if (strlen(devices[i]->kind) == length && strncmp(devices[i]->kind, text, length) == 0) {
            *index = colon ? colon + 1 : NULL;
            return devices[i];
        }
    }
    return NULL;
}
