// SPDX-License-Identifier: Apache-2.0
//
// Limits that a device sets to a kernel: how many of its thread blocks an SM holds, and the least
// time that is physically possible (pure functions).
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
    int32_t blocks; // per SM; 0: the block does not fit, or it is not known
    int32_t warps;  // per SM
    enum occupancy_limit limit;
};

// Computes the occupancy. `threads` and `smem_bytes` (static + dynamic) are those of a block,
// `registers` those of a thread. A 0 limits nothing, but without threads the result is unknown.
// Ranges: threads 1..1024, registers 0..255.
struct occupancy occupancy_of(const struct gpu *gpu, int32_t threads, int32_t registers,
                              int32_t smem_bytes);

// The least possible time of a cold launch, in ns: 90 % of the longer of two times. One is that of
// all multiply-adds at the type's dense peak and the highest clock, the other that of reading both
// operands once at the profile's DRAM bandwidth. The output may stay in a cache. FP32 and FP64
// products may be made of TF32 products, three at least. 0: the profile does not tell. The 10 %
// allow for errors of a profile's figures: the bandwidth was measured 5 % below the datasheet's. A
// shorter time cannot be this kernel's.
double least_time_ns(const struct gpu *gpu, const struct problem *problem);

#endif
