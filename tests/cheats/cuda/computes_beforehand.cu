// SPDX-License-Identifier: Apache-2.0
//
// Its prepare(), which is not timed, computes the product.
//
// source: flashinfer-bench #413
// expect: refused
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p)
{
    multiply(p, 0);
}

static int prepare(const plumb_args *args, void *stream, const char *, char *, size_t)
{
    gemm<<<blocks_of(args), dim3(SIDE, SIDE), 0, (cudaStream_t)stream>>>(product_of(args));
    return (int)cudaStreamSynchronize((cudaStream_t)stream);
}

static int launch(const plumb_args *, void *)
{
    return 0;
}
CHEAT_LIBRARY(prepare, launch)
