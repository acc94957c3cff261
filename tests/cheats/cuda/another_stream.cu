// SPDX-License-Identifier: Apache-2.0
//
// Launches on a stream of its own, that the events do not wait for.
//
// source: KernelBench #82: work on another stream
// expect: refused broken
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    multiply(p, SLOWER);
}

static int launch(const plumb_args *args, void *)
{
    static cudaStream_t own;
    if (!own && cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking) != cudaSuccess)
        return 1;
    gemm<<<blocks_of(args), dim3(SIDE, SIDE), 0, own>>>(product_of(args));
    return (int)cudaGetLastError();
}
CHEAT_LIBRARY(nullptr, launch)
