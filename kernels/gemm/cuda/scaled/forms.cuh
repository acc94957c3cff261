// SPDX-License-Identifier: Apache-2.0
//
// FP8 with block scales as a form of the ABI's version 2, for kernels that otherwise
// take plain problems.
#ifndef PLUMB_GEMM_SCALED_FORMS_CUH
#define PLUMB_GEMM_SCALED_FORMS_CUH

#include "../../../kernel.h"

// True for dense matrices in E4M3 with scales of 1x128 and 128x128 by columns, and
// for nothing else.
inline int has_block_scales(const plumb_form *f)
{
    const plumb_problem &p = f->problem;
    return f->number_count == 0 && f->grouping == PLUMB_NO_GROUPS && f->scale_type == PLUMB_FP32 &&
           f->scale_vector == 128 && f->scale_rows_a == 1 && f->scale_rows_b == 128 &&
           f->scale_layout == PLUMB_SCALES_COLUMNS && f->alpha == 1 && f->beta == 0 &&
           p.layout == PLUMB_TN && f->lda == p.k && f->ldb == p.k && f->ldc == p.n;
}

// The same arguments for a kernel that takes plain problems: block scales are passed where the
// scales of whole tensors would be.
inline plumb_args plain_args(const plumb_form_args *args)
{
    plumb_args plain = args->args;
    plain.problem = args->form.problem;
    plain.scale_a = (const float *)args->block_scales_a;
    plain.scale_b = (const float *)args->block_scales_b;
    return plain;
}

#endif
