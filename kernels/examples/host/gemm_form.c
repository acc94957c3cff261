// SPDX-License-Identifier: Apache-2.0
//
// A GEMM of any form: leading dimensions, alpha and beta, INT8, bias and activations, block scales,
// groups, batch.
#include "gemm.h"

static int launch(const struct plumb_form_args *args, void *stream)
{
    (void)stream;
    return gemm_any(args);
}

static const struct plumb_form_kernel kernel = {
    .kernel = {.name = "gemm-form",
               .summary = "three loops, any form",
               .traits = {.acc_type = PLUMB_FP64, .threads = 1}},
    .supports = gemm_supports,
    .launch = launch,
};
PLUMB_FORM_LIBRARY("host", kernel)
