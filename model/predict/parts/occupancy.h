// SPDX-License-Identifier: Apache-2.0
//
// How many thread blocks of a kernel one SM holds at once (pure functions).
#ifndef PLUMB_OCCUPANCY_H
#define PLUMB_OCCUPANCY_H

#include "model/gpu.h"

enum occupancy_limit {
    OCCUPANCY_UNKNOWN, // the profile or the block's size is not known
    OCCUPANCY_THREADS,
    OCCUPANCY_REGISTERS,
    OCCUPANCY_SHARED,
    OCCUPANCY_BLOCKS,
    OCCUPANCY_LIMITS
};
const char *occupancy_limit_name(enum occupancy_limit limit);

struct occupancy {
    int32_t blocks; // per SM; 0: the block does not fit, or unknown
    int32_t warps;  // per SM
    enum occupancy_limit limit;
};

// `threads` and `smem_bytes` (static + dynamic) are of a block, `registers` of a thread; what is 0
// limits nothing, but without threads nothing is known. Ranges: threads 1..1024, registers 0..255.
struct occupancy occupancy_of(const struct gpu *gpu, int32_t threads, int32_t registers,
                              int32_t smem_bytes);

#endif
