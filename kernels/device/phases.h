// SPDX-License-Identifier: Apache-2.0
//
// Makes both samples of a pair begin in the same phase.
//
// The device distributes a kernel's blocks from the place where the distribution of the kernel
// before it ended, whoever launched that. Of two identical launches of an FP8 kernel of 94 us on an
// H200, one after an odd number of kernels and one after an even number, one took 0.5 % longer
// (baselines/recorded/h200/measuring, "Phases"). With 7 kernels in a sample, the sides of each pair
// differed by that, and the order decided the sign; with 8 they did not differ. So each sample is
// filled up to a multiple of PHASES with kernels that do nothing.
#ifndef PLUMB_PHASES_H
#define PLUMB_PHASES_H

#include <stdint.h>

enum { PHASES = 8 };
// The stopwatch's own kernels in a sample with one flush: noise, flush, hold, stamps before
// and after, look.
enum { PHASES_OWN = 6 };

// The number of kernels, 0 to PHASES - 1, that are missing to a multiple after `own` kernels of the
// stopwatch and `launches` launches of `kernels` kernels each.
static inline uint32_t phases_missing(uint32_t own, uint32_t launches, uint32_t kernels)
{
    const uint64_t queued = own + (uint64_t)launches * kernels;
    return (uint32_t)((PHASES - queued % PHASES) % PHASES);
}

#endif
