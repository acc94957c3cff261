// SPDX-License-Identifier: Apache-2.0
//
// The parts of the `bench` program: the protocol that `plumb` drives it by (model/wire.h) and the
// commands for people.

#ifndef PLUMB_BENCH_H
#define PLUMB_BENCH_H

#include "kernels/device/device.h"

#include <stdio.h>

// An open device and where the answers go.
struct bench {
    const struct device_ops *ops; // NULL: no device; libraries are only listed
    struct device_base *device;
    bool awake; // it can measure
    FILE *out;  // private: what a kernel prints goes to stderr
};

// bench list LIBRARY...
int bench_list(FILE *out, char **libraries, int count);

// bench calibrate [KEY]
int bench_calibrate(struct bench *bench, const char *only);

#endif
