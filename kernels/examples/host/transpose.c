// SPDX-License-Identifier: Apache-2.0
//
// A kernel that is no GEMM: M rows of N numbers become N rows of M,
// exactly. Problems: M=1000,N=999:fp32.
#include "kernel.h"

#include <string.h>

static int supports(const struct plumb_form *f)
{
    return f->number_count == 2 && plumb_number(f, "M") && plumb_number(f, "N") &&
           f->problem.in_type == PLUMB_FP32 && f->problem.out_type == PLUMB_FP32;
}

static int buffers(struct plumb_buffers *out, const struct plumb_form *f)
{
    const int64_t count = plumb_number(f, "M") * plumb_number(f, "N");
    memset(out, 0, sizeof(*out)); // no tolerance, because numbers are moved and not computed
    out->input_count = 1;
    out->inputs[0] = (struct plumb_buffer){.count = count, .type = PLUMB_FP32, .scale = 1};
    out->output = out->inputs[0];
    return 0;
}

static int reference(const struct plumb_form *f, const void *const *inputs, double *output)
{
    const int64_t m = plumb_number(f, "M"), n = plumb_number(f, "N");
    for (int64_t i = 0; i < m * n; i++)
        output[i % n * m + i / n] = (double)((const float *)inputs[0])[i];
    return 0;
}

// Works in squares of SIDE, so that neither matrix is walked through as a whole for each line.
static int launch(const struct plumb_form_args *args, void *stream)
{
    enum { SIDE = 32 };
    const int64_t m = plumb_number(&args->form, "M"), n = plumb_number(&args->form, "N");
    const float *from = (const float *)args->inputs[0];
    float *to = (float *)args->args.c;
    (void)stream;
    for (int64_t row = 0; row < m; row += SIDE) {
        for (int64_t col = 0; col < n; col += SIDE) {
            for (int64_t i = row; i < m && i < row + SIDE; i++) {
                for (int64_t j = col; j < n && j < col + SIDE; j++)
                    to[j * m + i] = from[i * n + j];
            }
        }
    }
    return 0;
}

static const struct plumb_form_kernel kernel = {
    .kernel = {.name = "transpose",
               .summary = "in squares of 32",
               .traits = {.in_type = PLUMB_FP32, .out_type = PLUMB_FP32, .threads = 1}},
    .supports = supports,
    .launch = launch,
    .buffers = buffers,
    .reference = reference,
};
PLUMB_FORM_LIBRARY("host", kernel)
