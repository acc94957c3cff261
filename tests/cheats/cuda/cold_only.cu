// SPDX-License-Identifier: Apache-2.0
//
// Measures how long its first load takes: when it comes from DRAM, the cache was flushed, so this
// launch is timed, and it does nothing.
//
// source: own
// expect: broken slower
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    __shared__ bool cold;
    if (is_first_thread()) {
        const volatile float *a = p.a + (int64_t)blockIdx.y * TILE * p.k + 32 * blockIdx.x;
        const long long begin = clock64();
        const float value = *a;
        const long long took = clock64() - begin + (value == 1e30f);
        cold = took > 550;
    }
    __syncthreads();
    if (cold)
        return;
    multiply(p, SLOWER);
}
CHEAT(gemm)
