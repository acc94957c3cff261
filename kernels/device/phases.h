// SPDX-License-Identifier: Apache-2.0
//
// Both samples of a pair begin in the same phase.
//
// Where a device puts a kernel's blocks goes on from the kernel before it, whoever launched that.
// Of two identical launches of an FP8 kernel of 94 us on an H200, one behind an odd number of
// kernels and one behind an even number, one took 0.5 % longer
// (baselines/recorded/h200/measuring, "Phases"). With 7 kernels a sample, the sides of each pair
// differed by that, with the sign of the order; with 8 they do not. So each sample is filled up to
// a multiple of PHASES with kernels that do nothing.
#ifndef PLUMB_PHASES_H
#define PLUMB_PHASES_H

#include <stdint.h>

enum { PHASES = 8 };
// The stopwatch's own in a sample of one flush: noise, flush, hold, stamps before and after, look.
enum { PHASES_OWN = 6 };

// How many kernels are missing behind `own` of the stopwatch and `launches` launches of `kernels`
// kernels each, 0 to PHASES - 1.
static inline uint32_t phases_missing(uint32_t own, uint32_t launches, uint32_t kernels)
{
    const uint64_t queued = own + (uint64_t)launches * kernels;
    return (uint32_t)((PHASES - queued % PHASES) % PHASES);
}

#endif
