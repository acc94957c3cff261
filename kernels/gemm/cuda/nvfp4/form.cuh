// SPDX-License-Identifier: Apache-2.0
//
// Which forms are NVFP4 products, where their scales lie, and where their results go. Kernels of
// Hopper and of Blackwell share this.
#ifndef PLUMB_GEMM_NVFP4_FORM_CUH
#define PLUMB_GEMM_NVFP4_FORM_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../../../kernel.h"
#include "../ptx.cuh"

constexpr int nvfp4_block = 16;       // elements per scale
constexpr int nvfp4_tile_rows = 128;  // rows of a tile of scales,
constexpr int nvfp4_tile_bytes = 512; // and its bytes: four blocks of each row, which are 64 of K

// True for an NVFP4 product in the ABI's layout, TN, single or dual, with FP16 or BF16 results.
inline int nvfp4_supports(const struct plumb_form *f, int epilogue)
{
    const struct plumb_problem *p = &f->problem;
    return f->number_count == 0 && f->grouping == PLUMB_NO_GROUPS && p->in_type == PLUMB_E2M1 &&
           (p->out_type == PLUMB_FP16 || p->out_type == PLUMB_BF16) && p->layout == PLUMB_TN &&
           p->batch == 1 && p->epilogue == epilogue && f->scale_type == PLUMB_E4M3 &&
           f->scale_vector == nvfp4_block && f->scale_rows_a == 1 && f->scale_rows_b == 1 &&
           f->scale_layout == PLUMB_SCALES_TILED && f->alpha == 1 && f->beta == 0 &&
           f->lda == p->k && f->ldb == p->k && f->ldc == p->n && p->m > 0 && p->n > 0 && p->k > 0 &&
           p->k % 32 == 0 && p->m < INT32_MAX / 2 && p->n < INT32_MAX / 2 && p->k < INT32_MAX / 2;
}

// ---- results ----

struct nvfp4_output {
    void *c;
    const float *scale_a, *scale_b; // scales of whole tensors, or NULL
    int m, n;
    int bf16;
};

DEVICE float nvfp4_tensor_scale(const nvfp4_output &out)
{
    return (out.scale_a ? *out.scale_a : 1.0f) * (out.scale_b ? *out.scale_b : 1.0f);
}

DEVICE void nvfp4_store(const nvfp4_output &out, int row, int column, float x)
{
    const int64_t at = (int64_t)row * out.n + column;
    if (out.bf16)
        static_cast<__nv_bfloat16 *>(out.c)[at] = __float2bfloat16_rn(x);
    else
        static_cast<__half *>(out.c)[at] = __float2half_rn(x);
}

inline nvfp4_output nvfp4_output_of(const plumb_form_args *args)
{
    const plumb_problem &p = args->form.problem;
    return {args->args.c, args->args.scale_a, args->args.scale_b,
            (int)p.m,     (int)p.n,           p.out_type == PLUMB_BF16};
}

#endif
