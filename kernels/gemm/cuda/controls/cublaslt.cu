// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
// module: cublaslt -DFAST=false -DNAME="cublaslt"
// module: cublaslt_fast -DFAST=true -DNAME="cublaslt_fast"
//
// cuBLASLt as the control of plain products, with the best of its heuristics: FP32, TF32, BF16,
// FP16, and FP8 with accurate accumulation. Or, by a flag, FP8 alone with fast accumulation, where
// partial sums stay in the tensor cores' short accumulator. It is compared with kernels that
// accumulate in the same way.
#include "cublaslt.cuh"

static struct cublaslt_state state;

static int supports(const struct plumb_problem *p)
{
    return (!FAST || p->in_type == PLUMB_E4M3) && cublaslt_supports(p);
}

static int prepare(const struct plumb_args *args, void *stream, const char *pin, char *note,
                   size_t note_size)
{
    return cublaslt_prepare(&state, describe_plain<FAST>, args, stream, pin, note, note_size);
}

static int launch(const struct plumb_args *args, void *stream)
{
    return cublaslt_launch(&state, args, stream);
}

static const struct plumb_kernel kernel = {
    .name = NAME,
    .summary = "best of cuBLASLt's heuristics, found once and frozen",
    .traits = {.in_type = FAST ? PLUMB_E4M3 : 0,
               .out_type = FAST ? PLUMB_BF16 : 0,
               .acc_type = PLUMB_FP32},
    .supports = supports,
    .workspace = cublaslt_workspace,
    .prepare = prepare,
    .launch = launch,
};
PLUMB_LIBRARY("cuda", kernel)
