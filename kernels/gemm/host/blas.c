// SPDX-License-Identifier: Apache-2.0
// link: openblas
//
// OpenBLAS's sgemm, single-threaded: reference and control of the host ladder.
#include "blas.h"

static int launch(const struct plumb_args *args, void *stream)
{
    (void)stream;
    openblas_set_num_threads(1);
    host_batch(args, blas_multiply, NULL);
    return 0;
}

static const struct plumb_kernel blas = {
    .name = "blas",
    .summary = "OpenBLAS sgemm, single-threaded",
    .traits = {HOST_TRAITS, .acc_type = PLUMB_FP32, .threads = 1},
    .supports = blas_supports,
    .prepare = blas_prepare,
    .launch = launch,
};
PLUMB_LIBRARY("host", blas)
