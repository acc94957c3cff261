// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// cuBLASLt by a wide search: the control for "could the library do better than it says".
#include "cublaslt_wide.cuh"

static struct cublaslt_state state;

static int supports(const struct plumb_problem *p)
{
    return cublaslt_supports(p);
}

static int prepare(const struct plumb_args *args, void *stream, const char *pin, char *note,
                   size_t note_size)
{
    return cublaslt_prepare(&state, false, choose_widely, args, stream, pin, note, note_size);
}

static int launch(const struct plumb_args *args, void *stream)
{
    return cublaslt_launch(&state, args, stream);
}

static const struct plumb_kernel kernel = {
    .name = "cublaslt_wide",
    .summary = "best of a wide search in cuBLASLt, 0.6 s per problem, frozen",
    .traits = {.acc_type = PLUMB_FP32},
    .supports = supports,
    .workspace = cublaslt_workspace,
    .prepare = prepare,
    .launch = launch,
};
PLUMB_LIBRARY("cuda", kernel)
