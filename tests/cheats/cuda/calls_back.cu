// SPDX-License-Identifier: Apache-2.0
//
// Its launch() queues a function of the host, that could do anything while others are timed.
//
// source: pygpubench: host code beside the clock
// expect: refused
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    multiply(p, SLOWER);
}

static void CUDART_CB call(void *)
{
}

static int launch(const plumb_args *args, void *stream)
{
    gemm<<<blocks_of(args), dim3(SIDE, SIDE), 0, (cudaStream_t)stream>>>(product_of(args));
    return (int)cudaLaunchHostFunc((cudaStream_t)stream, call, nullptr);
}
CHEAT_LIBRARY(nullptr, launch)
