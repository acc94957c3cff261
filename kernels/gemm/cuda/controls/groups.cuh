// SPDX-License-Identifier: Apache-2.0
//
// What the controls of grouped GEMMs know of a problem: how many rows each group has. A library's
// single products are asked for by numbers on the host, so these are read once, in prepare(), which
// no timed launch has to do; in that the controls are better off than who uses them.
#ifndef PLUMB_GEMM_CONTROLS_GROUPS_CUH
#define PLUMB_GEMM_CONTROLS_GROUPS_CUH

#include "../../../kernel.h"

#include <cuda_runtime.h>

#include <cstring>

constexpr int control_groups_most = 256;

struct known_groups {
    struct plumb_form form;
    int32_t first[control_groups_most], rows[control_groups_most];
};

static int read_groups(struct known_groups *out, const struct plumb_form_args *args)
{
    const size_t bytes = static_cast<size_t>(args->form.groups) * sizeof(int32_t);
    out->form = args->form;
    const int code = cudaMemcpy(out->first, args->group_first, bytes, cudaMemcpyDeviceToHost);
    return code ? code : cudaMemcpy(out->rows, args->group_rows, bytes, cudaMemcpyDeviceToHost);
}

static bool same_form(const struct plumb_form *x, const struct plumb_form *y)
{
    return memcmp(x, y, sizeof(*x)) == 0;
}

// Groups of layout TN, alpha 1, nothing between rows, nothing fused.
static int known_groups_form(const struct plumb_form *f)
{
    const struct plumb_problem *p = &f->problem;
    return f->grouping != PLUMB_NO_GROUPS && f->groups <= control_groups_most &&
           f->number_count == 0 && f->alpha == 1 && f->beta == 0 && f->lda == p->k &&
           f->ldb == p->k && f->ldc == p->n && p->out_type == PLUMB_BF16 && p->layout == PLUMB_TN &&
           p->batch == 1 && p->epilogue == PLUMB_NO_EPILOGUE && f->rows <= INT32_MAX &&
           p->n <= INT32_MAX && p->k <= INT32_MAX;
}

static int supports_bf16_groups(const struct plumb_form *f)
{
    return known_groups_form(f) && f->scale_vector == 0 && f->problem.in_type == PLUMB_BF16;
}

#endif
