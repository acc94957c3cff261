// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// cuBLASLt's own FP8 with block scales, 1x128 of A and 128x128 of B (from CUDA 12.9 on, on sm_90):
// the reference that the kernels with block scales are to beat. It wants rows of A in fours. The
// tile is what 13.1 notes of all its choices (algorithm 66, tile 20); it divides K in two, or does
// not.
#include "../scaled/forms.cuh"
#include "cublaslt.cuh"

static struct cublaslt_state state;

// The library's first operand is our B.
static int set_block_scales(struct choice *c, const struct plumb_args *args)
{
    const int32_t of_b = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    const int32_t of_a = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    int code = cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
                                              &of_b, sizeof(of_b));
    if (!code)
        code = cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
                                              &of_a, sizeof(of_a));
    return code ? code : set_scales(c, args);
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
    struct choice fresh = {};
    struct choice *slot = find_choice(&state, &args.problem);
    int code = state.handle ? 0 : cublasLtCreate(&state.handle);
    fresh.problem = args.problem;
    if (!code)
        code = make_operation(&fresh, false);
    if (!code)
        code = set_block_scales(&fresh, &args);
    if (!code)
        code = pin ? read_pin(&state, &fresh, pin)
                   : choose(&state, &fresh, &args, static_cast<cudaStream_t>(stream));
    if (code) {
        free_choice(&fresh);
        return code;
    }
    if (!slot)
        slot = &state.choices[state.next++ % (sizeof(state.choices) / sizeof(state.choices[0]))];
    free_choice(slot);
    fresh.ready = 1;
    *slot = fresh;
    write_note(note, note_size, &slot->algorithm);
    return 0;
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
