// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// cuBLASLt fp8 with fast accumulation by a wide search.
#include "cublaslt_wide.cuh"

static struct cublaslt_state state;

static int supports(const struct plumb_problem *p)
{
    return p->in_type == PLUMB_E4M3 && cublaslt_supports(p);
}

static int prepare(const struct plumb_args *args, void *stream, const char *pin, char *note,
                   size_t note_size)
{
    return cublaslt_prepare(&state, true, choose_widely, args, stream, pin, note, note_size);
}

static int launch(const struct plumb_args *args, void *stream)
{
    return cublaslt_launch(&state, args, stream);
}

static const struct plumb_kernel kernel = {
    .name = "cublaslt_wide_fast",
    .summary = "cuBLASLt fp8 with fast accumulation, best of a wide search, 0.6 s per problem",
    .traits = {.in_type = PLUMB_E4M3, .out_type = PLUMB_BF16, .acc_type = PLUMB_FP32},
    .supports = supports,
    .workspace = cublaslt_workspace,
    .prepare = prepare,
    .launch = launch,
};
PLUMB_LIBRARY("cuda", kernel)
