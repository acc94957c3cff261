// SPDX-License-Identifier: Apache-2.0
//
// Host ladder, rung 1: three loops, accumulated in double. The plainest statement of the problem,
// of a dual GEMM too; everything else is measured against what it costs.
#include "host.h"

#include <math.h>

static double dot(const struct plumb_problem *p, const float *a, const float *b, int64_t i,
                  int64_t j)
{
    const struct strides s = host_strides(p);
    double sum = 0;
    for (int64_t l = 0; l < p->k; l++)
        sum += (double)a[i * s.a_row + l * s.a_col] * b[l * s.b_row + j * s.b_col];
    return sum;
}

static void multiply(const struct plumb_problem *p, const float *a, const float *b, float *c,
                     void *state)
{
    (void)state;
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++)
            c[i * p->n + j] = (float)dot(p, a, b, i, j);
    }
}

static void multiply_dual(const struct plumb_problem *p, const float *a, const float *b, float *c,
                          void *state)
{
    (void)state;
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            const double gate = dot(p, a, b, i, j), up = dot(p, a, b + p->n * p->k, i, j);
            c[i * p->n + j] = (float)(gate / (1 + exp(-gate)) * up);
        }
    }
}

static int supports(const struct plumb_problem *problem)
{
    struct plumb_problem plain = *problem;
    if (plain.epilogue == PLUMB_DUAL_SILU)
        plain.epilogue = PLUMB_NO_EPILOGUE;
    return host_supports_fp32(&plain);
}

static int launch(const struct plumb_args *args, void *stream)
{
    (void)stream;
    host_batch(args, args->problem.epilogue == PLUMB_DUAL_SILU ? multiply_dual : multiply, NULL);
    return 0;
}

static const struct plumb_kernel naive = {
    .name = "naive",
    .summary = "three loops, accumulated in FP64",
    .traits = {HOST_TRAITS, .acc_type = PLUMB_FP64, .tile_m = 1, .tile_n = 1, .tile_k = 1,
               .stages = 1, .threads = 1, .raster = PLUMB_RASTER_N, .raster_group = 1},
    .supports = supports,
    .launch = launch,
};
PLUMB_LIBRARY("host", naive)
