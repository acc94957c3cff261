// SPDX-License-Identifier: Apache-2.0
//
// Its launch() sets C to zero and launches no kernel.
//
// source: KernelHacks: no-op kernels
// expect: broken
#include "tests/cheats/cuda/cheat.cuh"

static int launch(const plumb_args *args, void *stream)
{
    const size_t bytes = (size_t)args->problem.m * (size_t)args->problem.n * sizeof(float);
    return (int)cudaMemsetAsync(args->c, 0, bytes, (cudaStream_t)stream);
}
CHEAT_LIBRARY(nullptr, launch)
