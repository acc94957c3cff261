// SPDX-License-Identifier: Apache-2.0
//
// The parts of the `bench` program: the protocol that `plumb` drives it by (model/wire.h) and the
// commands for people.
#ifndef PLUMB_BENCH_H
#define PLUMB_BENCH_H

#include "kernels/device/device.h"

#include <stdio.h>

enum { EXIT_FAILED = 4 };

// An open device and where the answers go.
struct bench {
    const struct device_ops *ops; // NULL: no device; libraries are only listed
    struct device_base *device;
    bool awake; // it can measure
    FILE *out;  // private: what a kernel prints goes to stderr
};

// Before anything is measured; what else than that is asked may be all there is.
int bench_wake(struct bench *bench, struct error *err);

// Reads commands from `in` until quit or the end. Returns an exit code.
int protocol_run(struct bench *bench, FILE *in);

// bench list LIBRARY...
int bench_list(FILE *out, char **libraries, int count);

struct time_options {
    const char *head, *base, *kernel, *base_kernel, *problem, *pin, *csv;
    uint32_t pairs, blocks, launches, runup, places;
    uint32_t instances; // 0: as a gate has them
    uint64_t seed;
    enum regime regime;
    enum flush flush;
    unsigned variant;
    bool warm, inside, apart, head_first, solo;
};
// bench time ...
int bench_time(struct bench *bench, const struct time_options *options);
// bench calibrate [KEY]
int bench_calibrate(struct bench *bench, const char *only);

// Ends the process when a kernel has poisoned the device (abort: the parent sees a crash) or the
// device is gone (exit 40); otherwise returns. `text` goes to the parent as a note.
void bench_end_if_lost(struct bench *bench, const char *text);

#endif
