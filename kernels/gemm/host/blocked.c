// SPDX-License-Identifier: Apache-2.0
//
// Host ladder, rung 2: blocked for the caches, in plain C. B is packed into a K x N block that
// stays in L2, row by row, so that the innermost loop runs along contiguous memory and the compiler
// can vectorise it with the baseline instruction set; four rows of C share each pass over B.
#include "host.h"

#include <string.h>

enum { BLOCK_N = 256, BLOCK_K = 128, ROWS = 4 };

static void pack_b(float *out, const float *b, const struct strides *s, int64_t rows, int64_t cols)
{
    for (int64_t j = 0; j < cols; j++) {
        for (int64_t l = 0; l < rows; l++)
            out[l * BLOCK_N + j] = b[l * s->b_row + j * s->b_col];
    }
}

// rows x cols of C += rows x depth of A times the packed block.
static void update(float *restrict c, int64_t c_row, const float *a, const struct strides *s,
                   const float *restrict packed, int64_t rows, int64_t cols, int64_t depth)
{
    float sum[ROWS][BLOCK_N];
    for (int64_t i = 0; i < rows; i++)
        memcpy(sum[i], c + i * c_row, (size_t)cols * sizeof(float));
    for (int64_t l = 0; l < depth; l++) {
        const float *restrict row = packed + l * BLOCK_N;
        for (int64_t i = 0; i < rows; i++) {
            const float factor = a[i * s->a_row + l * s->a_col];
            for (int64_t j = 0; j < cols; j++)
                sum[i][j] += factor * row[j];
        }
    }
    for (int64_t i = 0; i < rows; i++)
        memcpy(c + i * c_row, sum[i], (size_t)cols * sizeof(float));
}

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static void multiply(const struct plumb_problem *p, const float *a, const float *b, float *c,
                     void *packed)
{
    const struct strides s = host_strides(p);
    memset(c, 0, (size_t)(p->m * p->n) * sizeof(float));
    for (int64_t j = 0; j < p->n; j += BLOCK_N) {
        int64_t cols = least(BLOCK_N, p->n - j);
        for (int64_t l = 0; l < p->k; l += BLOCK_K) {
            int64_t depth = least(BLOCK_K, p->k - l);
            pack_b(packed, b + l * s.b_row + j * s.b_col, &s, depth, cols);
            for (int64_t i = 0; i < p->m; i += ROWS)
                update(c + i * p->n + j, p->n, a + i * s.a_row + l * s.a_col, &s, packed,
                       least(ROWS, p->m - i), cols, depth);
        }
    }
}

static size_t workspace(const struct plumb_problem *p)
{
    (void)p;
    return (size_t)BLOCK_N * BLOCK_K * sizeof(float);
}

static int launch(const struct plumb_args *args, void *stream)
{
    (void)stream;
    return host_launch(args, workspace, multiply);
}

static const struct plumb_kernel blocked = {
    .name = "blocked",
    .summary = "blocked for L1 and L2, B packed, plain C",
    .traits = {HOST_TRAITS, .acc_type = PLUMB_FP32, .tile_m = ROWS, .tile_n = BLOCK_N,
               .tile_k = BLOCK_K, .stages = 1, .threads = 1,
               .smem_bytes = BLOCK_N * BLOCK_K * (int)sizeof(float), .raster = PLUMB_RASTER_M,
               .raster_group = 1},
    .supports = host_supports_fp32,
    .workspace = workspace,
    .launch = launch,
};
PLUMB_LIBRARY("host", blocked)
