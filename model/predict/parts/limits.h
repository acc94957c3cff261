// SPDX-License-Identifier: Apache-2.0
//
// What a device sets to a kernel: how many of its thread blocks an SM holds, and the least time
// that physics leave it (pure functions).
#ifndef PLUMB_LIMITS_H
#define PLUMB_LIMITS_H

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

// The least time of a cold launch, ns: 90 % of the longer of two times: all multiply-adds at the
// type's dense peak and the highest clock, and both operands read once at the profile's DRAM
// bandwidth. The output may stay in a cache. FP32 and FP64 products may be put together from TF32
// ones, three at least, or more. 0: the profile does not say. The 10 % are for what a profile's
// figures may be off: bandwidth was measured 5 % below the datasheet's. A time below this is none
// of this kernel.
double least_time_ns(const struct gpu *gpu, const struct problem *problem);

#endif
