// SPDX-License-Identifier: Apache-2.0
// link: openblas
//
// OpenBLAS's sgemm, on every core: reference and control of the host ladder.
#include "blas.h"

static int launch(const struct plumb_args *args, void *stream)
{
    (void)stream;
    openblas_set_num_threads(openblas_get_num_procs());
    host_batch(args, blas_multiply, NULL);
    return 0;
}

static const struct plumb_kernel blas_threads = {
    .name = "blas_threads",
    .summary = "OpenBLAS sgemm, on every core",
    .traits = {HOST_TRAITS, .acc_type = PLUMB_FP32, .threads = 64},
    .supports = blas_supports,
    .prepare = blas_prepare,
    .launch = launch,
};
PLUMB_LIBRARY("host", blas_threads)
