// SPDX-License-Identifier: Apache-2.0
//
// Parts of the host device: its micro-benchmarks, and what these and the device stand on.
#ifndef PLUMB_KERNELS_HOST_H
#define PLUMB_KERNELS_HOST_H

#include "kernels/device/device.h"
#include "model/base.h"

#include <sched.h>

int host_calibrate(struct device_base *device, const char *only, calibration_sink *sink,
                   void *state, struct error *err);

double host_now_ns(void); // CLOCK_MONOTONIC_RAW
// The processor that kernels of one thread are pinned to, this bench's own where it was told one,
// and all that this process may use. Where none is its own, kernels of one thread are not pinned.
void host_processors(cpu_set_t *alone, cpu_set_t *all);
// The core's clock now, from the time that a chain of dependent additions takes (one clock each on
// every x86-64 and AArch64 core). About 20 us. 0 where the chain is not known.
double host_clock_hz(void);
size_t host_cache_bytes(int level); // of this CPU, 0 if unknown

// ==== memory that the processes of libraries see too ====
//
// Memory of the host device that the processes of libraries see too, at the same addresses: one
// range for inputs, which they can only read, and one for all that they write. Both are sparse.
// What bench knows and they must not (references, seeds, orders) lies elsewhere.

enum host_range { HOST_INPUTS, HOST_OUTPUTS, HOST_RANGES };

struct host_memory;

int host_memory_open(struct host_memory **out, struct error *err);
void host_memory_close(struct host_memory *memory); // NULL does nothing
// Zeroed, on a page boundary; NULL when there is no room.
void *host_memory_take(struct host_memory *memory, enum host_range range, size_t bytes);
void host_memory_give_back(struct host_memory *memory, void *place);
// The number of the System V segment that a range is.
int host_memory_segment(const struct host_memory *memory, enum host_range range);
// In another process: attaches both where bench has them, the inputs for reading. The process must
// not be able to attach them again (kernels/bench/arm_worker.c).
int host_memory_join(const int segments[HOST_RANGES], struct error *err);

#endif
