// SPDX-License-Identifier: Apache-2.0
//
// Does nothing when it had the same output less than half a millisecond ago: so do launches that
// only heat the device, and the one before a launch on a warm set. Who idles there is cooler, or
// has nothing left to do.
//
// source: own; against regimes that heat, or launch twice on one set
// expect: broken slower
#include "tests/cheats/cuda/cheat.cuh"

enum { PLACES = 256 };
static const uint64_t soon_ns = 500000;

static __device__ struct {
    const float *output;
    uint64_t at_ns;
} seen[PLACES];
static __device__ unsigned counter;

static __global__ void gemm(product p)
{
    const unsigned at = (unsigned)((uintptr_t)p.c >> 9) % PLACES;
    if (seen[at].output != p.c || now_ns() - seen[at].at_ns > soon_ns)
        multiply(p, SLOWER);
    if (is_last_block(&counter) && is_first_thread()) {
        seen[at].output = p.c;
        seen[at].at_ns = now_ns();
    }
}
CHEAT(gemm)
