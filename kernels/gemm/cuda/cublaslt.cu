// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// cuBLASLt: fp32, tf32, bf16, fp16, and fp8 with accurate accumulation.
#include "cublaslt.cuh"

static struct cublaslt_state state;

static int supports(const struct plumb_problem *p)
{
    return cublaslt_supports(p);
}

static int prepare(const struct plumb_args *args, void *stream, const char *pin, char *note,
                   size_t note_size)
{
    return cublaslt_prepare(&state, false, choose, args, stream, pin, note, note_size);
}

static int launch(const struct plumb_args *args, void *stream)
{
    return cublaslt_launch(&state, args, stream);
}

static const struct plumb_kernel kernel = {
    .name = "cublaslt",
    .summary = "best of cuBLASLt's heuristics, found once and frozen",
    .traits = {.acc_type = PLUMB_FP32},
    .supports = supports,
    .workspace = cublaslt_workspace,
    .prepare = prepare,
    .launch = launch,
};
PLUMB_LIBRARY("cuda", kernel)
