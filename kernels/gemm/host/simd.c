// SPDX-License-Identifier: Apache-2.0
//
// Host ladder, rung 3: packed panels and a register tile, AVX-512 or AVX2 as the CPU has it (see
// simd.h). One thread.
#include "simd.h"

static void multiply(const struct plumb_problem *p, const float *a, const float *b, float *c,
                     void *packed)
{
    simd_rows(p, a, b, c, 0, p->m, packed);
}

static size_t workspace(const struct plumb_problem *p)
{
    (void)p;
    return SIMD_FLOATS * sizeof(float);
}

static int launch(const struct plumb_args *args, void *stream)
{
    (void)stream;
    if (args->workspace_bytes < workspace(&args->problem))
        return 1;
    host_batch(args, multiply, args->workspace);
    return 0;
}

static const struct plumb_kernel simd = {
    .name = "simd",
    .summary = "packed panels and a register tile, AVX-512 or AVX2 as the CPU has it",
    .traits = {.in_type = PLUMB_FP32,
               .out_type = PLUMB_FP32,
               .acc_type = PLUMB_FP32,
               .tile_m = ROWS,
               .tile_n = COLS,
               .tile_k = DEPTH,
               .stages = 1,
               .cluster_m = 1,
               .cluster_n = 1,
               .threads = 1,
               .smem_bytes = SIMD_FLOATS * (int)sizeof(float),
               .blocks_per_sm = 1,
               .raster = PLUMB_RASTER_M,
               .raster_group = 1,
               .split_k = 1},
    .supports = host_supports_fp32,
    .workspace = workspace,
    .launch = launch,
};
PLUMB_LIBRARY("host", simd)
