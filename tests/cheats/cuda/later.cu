// SPDX-License-Identifier: Apache-2.0
//
// Is honest for a fifth of a second after its first launch, long enough for the checks, and then
// does nothing.
//
// source: reference-kernels #142: warm-up detection
// expect: broken slower
#include "tests/cheats/cuda/cheat.cuh"

static __device__ uint64_t begun_ns;

static __global__ void gemm(product p)
{
    if (begun_ns && now_ns() - begun_ns > 200000000)
        return;
    multiply(p, SLOWER);
    if (is_first_thread() && !begun_ns)
        begun_ns = now_ns();
}
CHEAT(gemm)
