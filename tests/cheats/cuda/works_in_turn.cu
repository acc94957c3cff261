// SPDX-License-Identifier: Apache-2.0
//
// Its launch() launches the kernel once and nothing the next time.
//
// source: own
// expect: refused
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    multiply(p, SLOWER);
}

static int launch(const plumb_args *args, void *stream)
{
    static int launches;
    if (launches++ % 2 == 0)
        gemm<<<blocks_of(args), dim3(SIDE, SIDE), 0, (cudaStream_t)stream>>>(product_of(args));
    return (int)cudaGetLastError();
}
CHEAT_LIBRARY(nullptr, launch)
