// SPDX-License-Identifier: Apache-2.0
//
// A kernel that is no GEMM: softmax over S rows of H numbers, one block per
// row. Problems: S=4096,H=128:bf16-fp32.
#include "kernel.h"

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstring>

constexpr int threads = 128, warp = 32;

template <class operation> static __device__ float over_block(float value, operation op)
{
    __shared__ float shared[threads / warp];
    for (int step = warp / 2; step > 0; step /= 2)
        value = op(value, __shfl_xor_sync(~0u, value, step));
    __syncthreads(); // waits until the last reduction's numbers have been read
    if (threadIdx.x % warp == 0)
        shared[threadIdx.x / warp] = value;
    __syncthreads();
    value = shared[0];
    for (int i = 1; i < threads / warp; i++)
        value = op(value, shared[i]);
    return value;
}

static __global__ void __launch_bounds__(threads)
    softmax_rows(const __nv_bfloat16 *__restrict__ x, float *__restrict__ y, int64_t h)
{
    x += blockIdx.x * h;
    y += blockIdx.x * h;
    float largest = -INFINITY, sum = 0;
    for (int64_t i = threadIdx.x; i < h; i += threads)
        largest = fmaxf(largest, __bfloat162float(x[i]));
    largest = over_block(largest, [](float a, float b) { return fmaxf(a, b); });
    for (int64_t i = threadIdx.x; i < h; i += threads)
        sum += expf(__bfloat162float(x[i]) - largest);
    sum = over_block(sum, [](float a, float b) { return a + b; });
    for (int64_t i = threadIdx.x; i < h; i += threads)
        y[i] = expf(__bfloat162float(x[i]) - largest) / sum;
}

static int supports(const struct plumb_form *f)
{
    return f->number_count == 2 && plumb_number(f, "S") && plumb_number(f, "H") &&
           f->problem.in_type == PLUMB_BF16 && f->problem.out_type == PLUMB_FP32;
}

static int buffers(struct plumb_buffers *out, const struct plumb_form *f)
{
    const int64_t h = plumb_number(f, "H"), count = plumb_number(f, "S") * h;
    memset(out, 0, sizeof(*out));
    out->input_count = 1;
    out->inputs[0] = {count, PLUMB_BF16, PLUMB_NORMAL, 3};
    out->output = {count, PLUMB_FP32, PLUMB_NORMAL, 1.0 / static_cast<double>(h)};
    out->absolute = 1e-12;
    out->relative = 1e-5; // the sum of H positive numbers, and an exponential
    return 0;
}

// Computes in double precision, from copies of the inputs on the host.
static int reference(const struct plumb_form *f, const void *const *inputs, double *output)
{
    const int64_t s = plumb_number(f, "S"), h = plumb_number(f, "H");
    const uint16_t *x = static_cast<const uint16_t *>(inputs[0]);
    for (int64_t row = 0; row < s; row++, x += h, output += h) {
        double largest = -INFINITY, sum = 0;
        for (int64_t i = 0; i < h; i++) {
            const uint32_t bits = static_cast<uint32_t>(x[i]) << 16;
            float value;
            memcpy(&value, &bits, sizeof(value));
            output[i] = static_cast<double>(value);
            largest = fmax(largest, output[i]);
        }
        for (int64_t i = 0; i < h; i++)
            sum += output[i] = exp(output[i] - largest);
        for (int64_t i = 0; i < h; i++)
            output[i] /= sum;
    }
    return 0;
}

static int launch(const struct plumb_form_args *args, void *stream)
{
    const unsigned s = static_cast<unsigned>(plumb_number(&args->form, "S"));
    softmax_rows<<<s, threads, 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<const __nv_bfloat16 *>(args->inputs[0]), static_cast<float *>(args->args.c),
        plumb_number(&args->form, "H"));
    return static_cast<int>(cudaGetLastError());
}

static const struct plumb_form_kernel kernel = {
    .kernel = {.name = "softmax",
               .summary = "one block a row",
               .traits = {.in_type = PLUMB_BF16, .out_type = PLUMB_FP32, .threads = threads}},
    .supports = supports,
    .launch = launch,
    .buffers = buffers,
    .reference = reference,
};
PLUMB_FORM_LIBRARY("cuda", kernel)
