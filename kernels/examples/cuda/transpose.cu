// SPDX-License-Identifier: Apache-2.0
//
// A kernel that is no GEMM: M rows of N numbers become N rows of M, exactly, by squares in shared
// memory. Problems: M=4096,N=4095:fp32.
#include "kernel.h"

#include <cuda_runtime.h>

#include <cstring>

constexpr int side = 32, rows = 8;

static __global__ void __launch_bounds__(side *rows)
    transpose(const float *__restrict__ from, float *__restrict__ to, int64_t m, int64_t n)
{
    __shared__ float square[side][side + 1]; // one more, so that columns are in banks of their own
    const int64_t row = static_cast<int64_t>(blockIdx.y) * side;
    const int64_t col = static_cast<int64_t>(blockIdx.x) * side;
    for (int64_t i = threadIdx.y; i < side; i += rows) {
        if (row + i < m && col + threadIdx.x < n)
            square[i][threadIdx.x] = from[(row + i) * n + col + threadIdx.x];
    }
    __syncthreads();
    for (int64_t j = threadIdx.y; j < side; j += rows) {
        if (col + j < n && row + threadIdx.x < m)
            to[(col + j) * m + row + threadIdx.x] = square[threadIdx.x][j];
    }
}

static int supports(const struct plumb_form *f)
{
    return f->number_count == 2 && plumb_number(f, "M") && plumb_number(f, "N") &&
           plumb_number(f, "M") <= 65535LL * side && f->problem.in_type == PLUMB_FP32 &&
           f->problem.out_type == PLUMB_FP32;
}

static int buffers(struct plumb_buffers *out, const struct plumb_form *f)
{
    memset(out, 0, sizeof(*out)); // no tolerance, because numbers are moved and not computed
    out->input_count = 1;
    out->inputs[0] = {plumb_number(f, "M") * plumb_number(f, "N"), PLUMB_FP32, PLUMB_NORMAL, 1};
    out->output = out->inputs[0];
    return 0;
}

static int reference(const struct plumb_form *f, const void *const *inputs, double *output)
{
    const int64_t m = plumb_number(f, "M"), n = plumb_number(f, "N");
    for (int64_t i = 0; i < m * n; i++)
        output[i % n * m + i / n] = static_cast<double>(static_cast<const float *>(inputs[0])[i]);
    return 0;
}

static int launch(const struct plumb_form_args *args, void *stream)
{
    const int64_t m = plumb_number(&args->form, "M"), n = plumb_number(&args->form, "N");
    const dim3 blocks(static_cast<unsigned>((n + side - 1) / side),
                      static_cast<unsigned>((m + side - 1) / side));
    transpose<<<blocks, dim3(side, rows), 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<const float *>(args->inputs[0]), static_cast<float *>(args->args.c), m, n);
    return static_cast<int>(cudaGetLastError());
}

static const struct plumb_form_kernel kernel = {
    .kernel = {.name = "transpose",
               .summary = "by squares in shared memory",
               .traits = {.in_type = PLUMB_FP32, .out_type = PLUMB_FP32, .threads = side * rows}},
    .supports = supports,
    .launch = launch,
    .buffers = buffers,
    .reference = reference,
};
PLUMB_FORM_LIBRARY("cuda", kernel)
