// SPDX-License-Identifier: Apache-2.0
//
// Memory of the host device that the processes of libraries see too, at the same addresses: one
// range for inputs, which they can only read, and one for all that they write. Both are sparse.
// What bench knows and they must not (references, seeds, orders) lies elsewhere.
#ifndef PLUMB_KERNELS_HOST_MEMORY_H
#define PLUMB_KERNELS_HOST_MEMORY_H

#include "model/base.h"

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
