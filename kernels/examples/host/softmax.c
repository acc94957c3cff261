// SPDX-License-Identifier: Apache-2.0
//
// A kernel that is no GEMM: softmax over S rows of H numbers. Problems: S=4096,H=128:fp32.
#include "kernel.h"

#include <math.h>
#include <string.h>

static int supports(const struct plumb_form *f)
{
    return f->number_count == 2 && plumb_number(f, "S") && plumb_number(f, "H") &&
           f->problem.in_type == PLUMB_FP32 && f->problem.out_type == PLUMB_FP32;
}

static int buffers(struct plumb_buffers *out, const struct plumb_form *f)
{
    const int64_t h = plumb_number(f, "H"), count = plumb_number(f, "S") * h;
    memset(out, 0, sizeof(*out));
    out->input_count = 1;
    out->inputs[0] = (struct plumb_buffer){.count = count, .type = PLUMB_FP32, .scale = 3};
    out->output =
        (struct plumb_buffer){.count = count, .type = PLUMB_FP32, .scale = 1.0 / (double)h};
    out->absolute = 1e-12;
    out->relative = 1e-5; // the sum of H positive numbers, and an exponential
    return 0;
}

// Computes in double precision, and finds the largest exponent first.
static int reference(const struct plumb_form *f, const void *const *inputs, double *output)
{
    const int64_t s = plumb_number(f, "S"), h = plumb_number(f, "H");
    const float *x = (const float *)inputs[0];
    for (int64_t row = 0; row < s; row++, x += h, output += h) {
        double largest = (double)x[0], sum = 0;
        for (int64_t i = 1; i < h; i++)
            largest = fmax(largest, (double)x[i]);
        for (int64_t i = 0; i < h; i++)
            sum += exp((double)x[i] - largest);
        for (int64_t i = 0; i < h; i++)
            output[i] = exp((double)x[i] - largest) / sum;
    }
    return 0;
}

// One pass finds the largest number and the sum, which is scaled down whenever a
// larger number comes.
static int launch(const struct plumb_form_args *args, void *stream)
{
    const int64_t s = plumb_number(&args->form, "S"), h = plumb_number(&args->form, "H");
    const float *x = (const float *)args->inputs[0];
    float *y = (float *)args->args.c;
    (void)stream;
    for (int64_t row = 0; row < s; row++, x += h, y += h) {
        float largest = x[0], sum = 0;
        for (int64_t i = 0; i < h; i++) {
            if (x[i] > largest) {
                sum *= expf(largest - x[i]);
                largest = x[i];
            }
            sum += expf(x[i] - largest);
        }
        for (int64_t i = 0; i < h; i++)
            y[i] = expf(x[i] - largest) / sum;
    }
    return 0;
}

static const struct plumb_form_kernel kernel = {
    .kernel = {.name = "softmax",
               .summary = "online softmax over rows",
               .traits = {.in_type = PLUMB_FP32, .out_type = PLUMB_FP32, .threads = 1}},
    .supports = supports,
    .launch = launch,
    .buffers = buffers,
    .reference = reference,
};
PLUMB_FORM_LIBRARY("host", kernel)
