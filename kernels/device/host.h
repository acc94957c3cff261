// SPDX-License-Identifier: Apache-2.0
//
// Parts of the host device: its micro-benchmarks, and functions that these share with the device.
#ifndef PLUMB_KERNELS_HOST_H
#define PLUMB_KERNELS_HOST_H

#include "kernels/device/device.h"
#include "model/base.h"

#include <sched.h>

int host_calibrate(struct device_base *device, const char *only, calibration_sink *sink,
                   void *state, struct error *err);

double host_now_ns(void); // CLOCK_MONOTONIC_RAW
// Finds the processor to which single-threaded kernels are pinned (bench's own, if it was given
// one), and all processors that this process may use. Without a processor of its own,
// single-threaded kernels are not pinned.
void host_processors(cpu_set_t *alone, cpu_set_t *all);
// The present clock of the core, from the time of a chain of dependent additions (one clock each on
// every x86-64 and AArch64 core). Takes about 20 us. 0 if there is no such chain for this
// processor.
double host_clock_hz(void);
size_t host_cache_bytes(int level); // size of this CPU's cache of that level; 0: not known

// ==== memory that libraries' processes share ====
//
// Memory of the host device that the processes of libraries see at the same addresses: one range
// for inputs, which they can only read, and one for everything that they write. Both are sparse.
// What only bench may know (references, seeds, orders) lies elsewhere.

enum host_range { HOST_INPUTS, HOST_OUTPUTS, HOST_RANGES };

struct host_memory;

int host_memory_open(struct host_memory **out, struct error *err);
void host_memory_close(struct host_memory *memory); // NULL is allowed
// Takes zeroed memory on a page boundary; NULL when there is no room.
void *host_memory_take(struct host_memory *memory, enum host_range range, size_t bytes);
void host_memory_give_back(struct host_memory *memory, void *place);
// The number of the System V segment of a range.
int host_memory_segment(const struct host_memory *memory, enum host_range range);
// Called in another process: attaches both ranges at bench's addresses, the inputs read-only. The
// process must not be able to attach them again (kernels/bench/arm_worker.c).
int host_memory_join(const int segments[HOST_RANGES], struct error *err);

#endif
