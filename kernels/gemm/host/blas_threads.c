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
    .traits = {.in_type = PLUMB_FP32,
               .out_type = PLUMB_FP32,
               .acc_type = PLUMB_FP32,
               .cluster_m = 1,
               .cluster_n = 1,
               .threads = 64,
               .blocks_per_sm = 1,
               .split_k = 1},
    .supports = blas_supports,
    .prepare = blas_prepare,
    .launch = launch,
};
PLUMB_LIBRARY("host", blas_threads)
