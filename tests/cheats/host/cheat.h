// SPDX-License-Identifier: Apache-2.0
//
// What the cheats on the host device have in common: an honest FP32 product, C = A B with both
// operands K-major, and the table of a library of one kernel. `percent` of the rows are multiplied
// twice, so that a cheat really is slower than honest.c, by SLOWER. multiply_rows() is compiled as
// it is and aligned, the same in every library: inlined into a cheat it was 6 % faster with a
// quarter more rows (gcc 12, -O2), by how the compiler overlaps two rows' sums.
#ifndef PLUMB_TESTS_CHEAT_H
#define PLUMB_TESTS_CHEAT_H

#include "kernels/kernel.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SLOWER = 25, WORKSPACE_BYTES = 1 << 20 };

__attribute__((noinline, aligned(64))) static void multiply_rows(const struct plumb_args *args,
                                                                 int64_t rows, float *c)
{
    const struct plumb_problem *p = &args->problem;
    const float *a = args->a, *b = args->b;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            float sum = 0;
            for (int64_t l = 0; l < p->k; l++)
                sum += a[i * p->k + l] * b[j * p->k + l];
            c[i * p->n + j] = sum;
        }
    }
}

static inline void multiply(const struct plumb_args *args, int percent)
{
    const int64_t m = args->problem.m;
    if (percent)
        multiply_rows(args, m * percent / 100, args->c);
    multiply_rows(args, m, args->c);
}

// Packs B into `place` first, of which it writes all, as kernels with a workspace do.
static inline void multiply_packed(const struct plumb_args *args, float *place, int percent)
{
    const size_t count = (size_t)(args->problem.n * args->problem.k);
    const float *b = args->b;
    struct plumb_args packed = *args;
    if (count * sizeof(float) <= WORKSPACE_BYTES) {
        for (size_t i = 0; i < WORKSPACE_BYTES / sizeof(float); i++)
            place[i] = b[i % count];
        packed.b = place;
    }
    multiply(&packed, percent);
}

static inline size_t output_bytes(const struct plumb_args *args)
{
    return (size_t)(args->problem.m * args->problem.n) * sizeof(float);
}

// Where a head does less than its base: no problem of that m.
#ifndef EXCEPT_M
#define EXCEPT_M 0
#endif

static inline int supports(const struct plumb_problem *p)
{
    return p->m != EXCEPT_M && p->in_type == PLUMB_FP32 && p->out_type == PLUMB_FP32 &&
           p->layout == PLUMB_TN && p->batch == 1 && p->epilogue == PLUMB_NO_EPILOGUE;
}

static inline size_t workspace(const struct plumb_problem *p)
{
    (void)p;
    return WORKSPACE_BYTES;
}

// A library whose kernel is named by the build. PREPARE may be NULL.
#define CHEAT_LIBRARY(PREPARE, LAUNCH)                                                             \
    static const struct plumb_kernel cheat = {.name = CHEAT_NAME,                                  \
                                              .summary = "a cheat",                                \
                                              .traits = {.threads = 1},                            \
                                              .supports = supports,                                \
                                              .workspace = workspace,                              \
                                              .prepare = PREPARE,                                  \
                                              .launch = LAUNCH};                                   \
    PLUMB_LIBRARY("host", cheat)

// The usual one: `run` does all of it.
#define CHEAT(run)                                                                                 \
    static int launch(const struct plumb_args *args, void *stream)                                 \
    {                                                                                              \
        (void)stream;                                                                              \
        run(args);                                                                                 \
        return 0;                                                                                  \
    }                                                                                              \
    CHEAT_LIBRARY(NULL, launch)

#endif
