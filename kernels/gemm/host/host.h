// SPDX-License-Identifier: Apache-2.0
//
// What the host kernels share: the places of elements in each layout, and the loop over a batch.
//
// The two letters of a layout are BLAS's transpositions of the column-major call that writes the
// row-major C (which swaps the operands): the first is B's, the second A's.
//     B: T = n rows of k, N = k rows of n.    A: N = m rows of k, T = k rows of m.
#ifndef PLUMB_HOST_H
#define PLUMB_HOST_H

#include "kernel.h"

// Element (i, l) of A is a[i * a_row + l * a_col]; element (l, j) of B is b[l * b_row + j * b_col].
struct strides {
    int64_t a_row, a_col, b_row, b_col;
};

static inline struct strides host_strides(const struct plumb_problem *p)
{
    struct strides s = {.a_row = p->k, .a_col = 1, .b_row = 1, .b_col = p->k};
    if (p->layout == PLUMB_NN || p->layout == PLUMB_NT) {
        s.b_row = p->n;
        s.b_col = 1;
    }
    if (p->layout == PLUMB_NT || p->layout == PLUMB_TT) {
        s.a_row = 1;
        s.a_col = p->m;
    }
    return s;
}

// The traits of all of them: FP32 in and out, no clusters, no split of K.
#define HOST_TRAITS                                                                                \
    .in_type = PLUMB_FP32, .out_type = PLUMB_FP32, .cluster_m = 1, .cluster_n = 1,                 \
    .blocks_per_sm = 1, .split_k = 1

// Supports FP32 in and out, any layout and batch, no epilogue.
static inline int host_supports_fp32(const struct plumb_problem *p)
{
    return p->in_type == PLUMB_FP32 && p->out_type == PLUMB_FP32 && p->epilogue == 0;
}

// Calls one(problem, a, b, c, state) for each product of the batch. For a dual GEMM, b is B1,
// followed by B2.
static inline void host_batch(const struct plumb_args *args,
                              void (*one)(const struct plumb_problem *, const float *,
                                          const float *, float *, void *),
                              void *state)
{
    const struct plumb_problem *p = &args->problem;
    const float *a = (const float *)args->a;
    const float *b = (const float *)args->b;
    float *c = (float *)args->c;
    const int64_t weights = (p->epilogue == PLUMB_DUAL_SILU ? 2 : 1) * p->k * p->n;
    for (int32_t i = 0; i < p->batch; i++)
        one(p, a + i * p->m * p->k, b + i * weights, c + i * p->m * p->n, state);
}

// The launch() of a kernel whose products need a workspace.
static inline int host_launch(const struct plumb_args *args,
                              size_t (*workspace)(const struct plumb_problem *),
                              void (*one)(const struct plumb_problem *, const float *,
                                          const float *, float *, void *))
{
    if (args->workspace_bytes < workspace(&args->problem))
        return 1;
    host_batch(args, one, args->workspace);
    return 0;
}

#endif
