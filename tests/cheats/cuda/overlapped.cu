// SPDX-License-Identifier: Apache-2.0
//
// Lets the launch after it start at once (programmatic launch), so that in a batch the launches
// overlap and each seems shorter.
//
// source: own
// expect: slower
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    asm volatile("griddepcontrol.launch_dependents;");
    multiply(p, SLOWER);
}

static int launch(const plumb_args *args, void *stream)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks_of(args);
    config.blockDim = dim3(SIDE, SIDE);
    config.stream = (cudaStream_t)stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return (int)cudaLaunchKernelEx(&config, gemm, product_of(args));
}
CHEAT_LIBRARY(nullptr, launch)
