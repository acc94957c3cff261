// SPDX-License-Identifier: Apache-2.0
//
// Sees that it is recorded, and then launches a kernel that does half of the work.
//
// source: own
// expect: broken
#include "tests/cheats/cuda/cheat.cuh"

static __global__ void gemm(product p, bool half)
{
    if (half && (blockIdx.x + blockIdx.y) % 2)
        return;
    multiply(p, SLOWER);
}

static int launch(const plumb_args *args, void *stream)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing((cudaStream_t)stream, &status);
    gemm<<<blocks_of(args), dim3(SIDE, SIDE), 0, (cudaStream_t)stream>>>(
        product_of(args), status == cudaStreamCaptureStatusActive);
    return (int)cudaGetLastError();
}
CHEAT_LIBRARY(nullptr, launch)
