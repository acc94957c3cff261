// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// cuBLASLt's own FP8 with block scales, 1x128 of A and 128x128 of B (from CUDA 12.9 on, on sm_90):
// the reference that the kernels with block scales are to beat. It needs a multiple of four rows of
// A. Version 13.1 notes the same tile for all its choices (algorithm 66, tile 20); it either
// divides K in two or does not.
#include "../scaled/forms.cuh"
#include "cublaslt.cuh"

static struct cublaslt_state state;

static int describe(struct library_call *c, const struct plumb_args *args)
{
    const int code = make_operation(c, false);
    return code ? code : set_block_scales(c, args->scale_a, args->scale_b);
}

static int supports(const struct plumb_form *f)
{
    const struct plumb_problem &p = f->problem;
    return has_block_scales(f) && p.in_type == PLUMB_E4M3 && p.out_type == PLUMB_BF16 &&
           p.batch == 1 && p.epilogue == 0 && p.m % 4 == 0 && p.n % 16 == 0 && p.k % 16 == 0 &&
           p.m <= INT32_MAX && p.n <= INT32_MAX && p.k <= INT32_MAX;
}

static size_t workspace(const struct plumb_form *)
{
    return cublaslt_workspace_bytes;
}

static int prepare(const struct plumb_form_args *given, void *stream, const char *pin, char *note,
                   size_t note_size)
{
    const struct plumb_args args = plain_args(given);
    return cublaslt_prepare(&state, describe, &args, stream, pin, note, note_size);
}

static int launch(const struct plumb_form_args *given, void *stream)
{
    const struct plumb_args args = plain_args(given);
    return cublaslt_launch(&state, &args, stream);
}

static const struct plumb_form_kernel kernel = {
    .kernel = {.name = "cublaslt_scaled",
               .summary = "cuBLASLt's FP8 with scales of 1x128 and 128x128, found once and frozen",
               .traits = {.in_type = PLUMB_E4M3,
                          .out_type = PLUMB_BF16,
                          .acc_type = PLUMB_FP32,
                          .tile_m = 128,
                          .tile_n = 128,
                          .tile_k = 128,
                          .promote_k = 128}},
    .supports = supports,
    .workspace = workspace,
    .prepare = prepare,
    .launch = launch,
};
PLUMB_FORM_LIBRARY("cuda", kernel)
