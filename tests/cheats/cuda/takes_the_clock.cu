// SPDX-License-Identifier: Apache-2.0
//
// Puts its own clock_gettime and cudaEventElapsedTime before those of the process it is loaded in.
//
// source: pygpubench exploits: GOT patches, event swaps
// expect: slower
#include "tests/cheats/cuda/cheat.cuh"

#include <ctime>

static __global__ void gemm(product p)
{
    multiply(p, SLOWER);
}

extern "C" PLUMB_EXPORT int clock_gettime(clockid_t, struct timespec *now) noexcept
{
    static long calls;
    *now = {};
    now->tv_nsec = ++calls % 1000000000;
    return 0;
}

extern "C" PLUMB_EXPORT int cuEventElapsedTime_v2(float *ms, void *, void *)
{
    *ms = 0.001f;
    return 0;
}
CHEAT(gemm)
