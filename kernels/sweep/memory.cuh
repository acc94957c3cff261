// SPDX-License-Identifier: Apache-2.0
//
// Device memory for the largest problem, and the arguments of a launch in it.
#ifndef PLUMB_SWEEP_MEMORY_CUH
#define PLUMB_SWEEP_MEMORY_CUH

#include <cublasLt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "kernels.cuh"

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const int error_ = (int)(call);                                                            \
        if (error_) {                                                                              \
            fprintf(stderr, "%s:%d: %s: error %d (%s)\n", __FILE__, __LINE__, #call, error_,       \
                    cudaGetErrorString((cudaError_t)error_));                                      \
            exit(4);                                                                               \
        }                                                                                          \
    } while (0)

static size_t type_bytes(int type)
{
    return type == PLUMB_E4M3 || type == PLUMB_E5M2   ? 1
           : type == PLUMB_BF16 || type == PLUMB_FP16 ? 2
                                                      : 4;
}

// Device memory for the largest problem, made once.
struct device_memory {
    void *a, *b, *c, *first, *workspace;
    float *scale;
    uint4 *flush;
    size_t flush_bytes, workspace_bytes;
    uint64_t *stamps;
    unsigned long long *bad;
    float *worst;
    cudaStream_t stream;
    cublasLtHandle_t lt;
};

constexpr size_t blas_workspace_bytes = 64 << 20;
constexpr size_t behind_bytes = 65536; // of each input

static device_memory allocate(size_t a, size_t b, size_t c, size_t workspace)
{
    device_memory d = {};
    int l2 = 0;
    CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0));
    d.flush_bytes = 2 * (size_t)l2;
    d.workspace_bytes = workspace;
    CHECK(cudaMalloc(&d.a, a + behind_bytes));
    CHECK(cudaMalloc(&d.b, b + behind_bytes));
    CHECK(cudaMalloc(&d.c, c));
    CHECK(cudaMalloc(&d.first, c));
    CHECK(cudaMalloc(&d.workspace, workspace));
    CHECK(cudaMalloc(&d.scale, sizeof(float)));
    CHECK(cudaMalloc(&d.flush, d.flush_bytes));
    CHECK(cudaMalloc(&d.stamps, 6 * sizeof(uint64_t)));
    CHECK(cudaMalloc(&d.bad, sizeof *d.bad));
    CHECK(cudaMalloc(&d.worst, sizeof *d.worst));
    CHECK(cudaMemset(d.flush, 1, d.flush_bytes));
    CHECK(cudaMemset(d.workspace, 0x5a, workspace));
    const float scale = 1.0f / 96;
    CHECK(cudaMemcpy(d.scale, &scale, sizeof scale, cudaMemcpyHostToDevice));
    CHECK(cudaStreamCreate(&d.stream));
    CHECK(cublasLtCreate(&d.lt));
    return d;
}

// Waits for what was queued, at most 8 s: a kernel that hangs or fails ends the process with code 9
// after a line "HANG|FAIL NAME MxNxK", so that whoever runs it can leave the kernel out
// (SWEEP_SKIP) and begin again.
static void finish(cudaStream_t stream, const char *name, const plumb_problem &p)
{
    const time_t start = time(nullptr);
    cudaError_t state;
    while ((state = cudaStreamQuery(stream)) == cudaErrorNotReady)
        if (time(nullptr) > start + 8)
            break;
    if (state == cudaSuccess)
        return;
    fprintf(stderr, "%s %s %ldx%ldx%ld %s\n", state == cudaErrorNotReady ? "HANG" : "FAIL", name,
            (long)p.m, (long)p.n, (long)p.k, cudaGetErrorString(state));
    fflush(nullptr);
    _exit(9);
}

static plumb_args make_args(const device_memory &d, const plumb_problem &p)
{
    plumb_args args = {};
    args.problem = p;
    args.a = d.a;
    args.b = d.b;
    args.c = d.c;
    args.scale_a = args.scale_b = p.in_type == PLUMB_E4M3 ? d.scale : nullptr;
    args.workspace = d.workspace;
    args.workspace_bytes = d.workspace_bytes;
    return args;
}

// Elements of B: of both matrices of a dual GEMM.
static size_t count_b(const plumb_problem &p)
{
    return (size_t)p.n * p.k * (p.epilogue == PLUMB_DUAL_SILU ? 2 : 1);
}

// What lies behind the inputs is NaN in every type.
static void make_inputs(const device_memory &d, const plumb_problem &p, bool spread = false)
{
    const size_t a = (size_t)p.m * p.k, b = count_b(p), bytes = type_bytes(p.in_type);
    fill<<<1024, 256, 0, d.stream>>>(d.a, p.in_type, a, 1, spread);
    fill<<<1024, 256, 0, d.stream>>>(d.b, p.in_type, b, 2, spread);
    CHECK(cudaGetLastError());
    CHECK(cudaMemsetAsync((char *)d.a + a * bytes, 0xff, behind_bytes, d.stream));
    CHECK(cudaMemsetAsync((char *)d.b + b * bytes, 0xff, behind_bytes, d.stream));
}

#endif
