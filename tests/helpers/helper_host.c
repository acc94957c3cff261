// SPDX-License-Identifier: Apache-2.0
//
// One device for all tests of a program.
#include "tests/helpers/helper_host.h"

const struct device_ops *host;
struct device_base *device;

int host_set_up(void **state)
{
    const char *index;
    bool none;
    struct error err;
    host = device_find("host", &index);
    return host->open(&device, index, &none, &err);
}

int host_tear_down(void **state)
{
    host->close(device);
    return 0;
}
