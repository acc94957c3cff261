// SPDX-License-Identifier: Apache-2.0
//
// The fused dual GEMM in FP8 with fast accumulation: dual_2_fused.cu for another type.
#include "dual.cuh"

using shape = dual_config<config<e4m3, 128, 256, 2, 1>>;

static const plumb_kernel kernel = space_row<shape, 4, PLUMB_RASTER_M, 8>("dual-8-fp8");
PLUMB_LIBRARY("cuda", kernel)
