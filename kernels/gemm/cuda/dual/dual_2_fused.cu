// SPDX-License-Identifier: Apache-2.0
//
// The dual GEMM as one kernel. A block multiplies 128 rows of A by 128 rows of B1 and the same rows
// of B2, and only results leave it. Compared with the reference, this saves reading A twice,
// writing and reading both products, and two launches.
//
// Measured on 512 x 4096 x 7168 (H200, cold, interleaved; kernels/README.md): 78.3 us; the
// reference takes 90.0; one product of cuBLASLt and a second pass 82.1. With half the tiles (m =
// 256): 72.4, 57.4 and 44.3.
#include "dual.cuh"

using shape = dual_config<tiled<bf16, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2}>>;

static const plumb_kernel kernel = persistent_row<shape, 4, PLUMB_RASTER_M, 8>("dual-2-fused");
PLUMB_LIBRARY("cuda", kernel)
