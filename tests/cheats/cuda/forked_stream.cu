// SPDX-License-Identifier: Apache-2.0
//
// Forks a stream of its own by events and joins it again: two halves of the work side by side.
//
// source: KernelBench #82
// expect: slower refused
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    multiply(p, SLOWER);
}

static int launch(const plumb_args *args, void *stream)
{
    static cudaStream_t own;
    static cudaEvent_t begun, done;
    const cudaStream_t given = (cudaStream_t)stream;
    if (!own && (cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking) != cudaSuccess ||
                 cudaEventCreate(&begun) != cudaSuccess || cudaEventCreate(&done) != cudaSuccess))
        return 1;
    cudaEventRecord(begun, given);
    cudaStreamWaitEvent(own, begun);
    gemm<<<blocks_of(args), dim3(SIDE, SIDE), 0, own>>>(product_of(args));
    cudaEventRecord(done, own);
    return (int)cudaStreamWaitEvent(given, done);
}
CHEAT_LIBRARY(nullptr, launch)
