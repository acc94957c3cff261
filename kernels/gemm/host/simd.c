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
    return host_launch(args, workspace, multiply);
}

static const struct plumb_kernel simd = {
    .name = "simd",
    .summary = "packed panels and a register tile, AVX-512 or AVX2 as the CPU has it",
    .traits = {HOST_TRAITS, .acc_type = PLUMB_FP32, .tile_m = ROWS, .tile_n = COLS, .tile_k = DEPTH,
               .stages = 1, .threads = 1, .smem_bytes = SIMD_FLOATS * (int)sizeof(float),
               .raster = PLUMB_RASTER_M, .raster_group = 1},
    .supports = host_supports_fp32,
    .workspace = workspace,
    .launch = launch,
};
PLUMB_LIBRARY("host", simd)
