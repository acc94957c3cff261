// SPDX-License-Identifier: Apache-2.0
//
// The fused dual GEMM in pairs of blocks side by side, which share A's rows: each loads half of
// them for both. Of what L2 delivers that spares a sixth.
//
// Measured on 512 x 4096 x 7168: 81.5 us, as in pairs that share B.
#include "dual.cuh"

using shape = dual_config<config<bf16, 128, 256, 2, 1, 1, 2>>;

static const plumb_kernel kernel = space_row<shape, 4, PLUMB_RASTER_N, 8>("dual-4-share-a");
PLUMB_LIBRARY("cuda", kernel)
