// SPDX-License-Identifier: Apache-2.0
//
// The parts of the `bench` program: the protocol by which `plumb` drives it (model/wire.h), and
// commands for people.
#ifndef PLUMB_BENCH_H
#define PLUMB_BENCH_H

#include "kernels/bench/series.h"
#include "kernels/device/device.h"
#include "model/base.h"
#include "model/record/record.h"

#include <sched.h>
#include <stdio.h>

// An open device, and the file for answers.
struct open_bench {
    const struct device_ops *ops; // NULL: there is no device, and libraries are only listed
    struct device_base *device;
    bool awake; // the device is ready to measure
    FILE *out;  // a file of bench's own: what a kernel prints goes to stderr
};

// bench list LIBRARY...
int bench_list(FILE *out, char **libraries, int count);

// bench calibrate [KEY]
int bench_calibrate(struct open_bench *bench, const char *only);

// Makes the record of a library's kernel without its device code, which the parent reads from the
// library's file without loading it. This happens in a process that times nothing, because the
// library's host code runs here. Of `spec` it uses head, kernel, problem and pin. The launches
// belong to the arena. -1: the text says why the kernel cannot be recorded. If there is no device,
// a substitute for the runtime tells what launch() would queue (kernels/stand_in/libcudart.c).
int record_make(struct record *out, struct open_bench *bench, const struct series_spec *spec,
                struct arena *arena, struct error *err);

// ==== processors of its own ====
//
// The processors that a parent has reserved for this bench.

// Parses "7,23"; "none" is an empty set. -1: it is neither.
int own_processors_parse(cpu_set_t *out, const char *text, struct error *err);

#endif
