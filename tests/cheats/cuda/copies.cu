// SPDX-License-Identifier: Apache-2.0
//
// Its launch() copies a product that prepare() has made.
//
// source: reference-kernels #104: the first call computes, the rest look up
// expect: refused
#include "tests/cheats/cuda/cheat.cuh"

static void *kept;

static int launch(const plumb_args *args, void *stream)
{
    const size_t bytes = (size_t)args->problem.m * (size_t)args->problem.n * sizeof(float);
    if (!kept && cudaMalloc(&kept, bytes) != cudaSuccess)
        return 1;
    return (int)cudaMemcpyAsync(args->c, kept, bytes, cudaMemcpyDeviceToDevice,
                                (cudaStream_t)stream);
}
CHEAT_LIBRARY(nullptr, launch)
