// SPDX-License-Identifier: Apache-2.0
//
// A GEMM of any form, a thread for each element of C.
#include "gemm.h"

#include <cuda_runtime.h>

constexpr int side = 16;

static __global__ void __launch_bounds__(side *side)
    gemm_elements(const __grid_constant__ struct plumb_form_args args)
{
    const int64_t row = blockIdx.y * static_cast<int64_t>(side) + threadIdx.y;
    const int64_t col = blockIdx.x * static_cast<int64_t>(side) + threadIdx.x;
    if (row >= args.form.rows || col >= args.form.problem.n)
        return;
    const int64_t of_b = gemm_matrix(&args, row);
    const struct gemm_operands operands = gemm_operands(&args);
    if (of_b >= 0)
        gemm_element(&args, &operands, row, col, of_b);
}

static int supports(const struct plumb_form *f)
{
    return gemm_supports(f) && f->rows <= 65535LL * side;
}

static int launch(const struct plumb_form_args *args, void *stream)
{
    const dim3 blocks(static_cast<unsigned>((args->form.problem.n + side - 1) / side),
                      static_cast<unsigned>((args->form.rows + side - 1) / side));
    gemm_elements<<<blocks, dim3(side, side), 0, static_cast<cudaStream_t>(stream)>>>(*args);
    return static_cast<int>(cudaGetLastError());
}

static const struct plumb_form_kernel kernel = {
    .kernel = {.name = "gemm-form",
               .summary = "one thread per element, any form",
               .traits = {.acc_type = PLUMB_FP64, .threads = side * side}},
    .supports = supports,
    .launch = launch,
};
PLUMB_FORM_LIBRARY("cuda", kernel)
