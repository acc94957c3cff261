// SPDX-License-Identifier: Apache-2.0
//
// The least time that a device's physics leave a cold launch.
#ifndef PLUMB_LEAST_H
#define PLUMB_LEAST_H

#include "model/gpu.h"

// ns: 90 % of the longer of two times: all multiply-adds at the type's dense peak and the highest
// clock, and both operands read once at the profile's DRAM bandwidth. The output may stay in a
// cache. FP32 and FP64 products may be put together from TF32 ones, three at least, or more. 0: the
// profile does not say. The 10 % are for what a profile's figures may be off: bandwidth was
// measured 5 % below the datasheet's. A time below this is none of this kernel.
double least_time_ns(const struct gpu *gpu, const struct problem *problem);

#endif
