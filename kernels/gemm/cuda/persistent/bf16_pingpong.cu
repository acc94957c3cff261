// SPDX-License-Identifier: Apache-2.0
//
// Ping-pong in BF16: each consumer warpgroup computes whole 128 x 176 tiles, and one's epilogue
// runs under the other's main loop. A turn is handed over while its last slab still runs.
//
// Measured on 4096 x 7168 x 2048 (H200, cold, interleaved with cuBLASLt; kernels/README.md): 0.990
// of cuBLASLt's best, 128 x 256 with held results 0.961. Tried and rejected: handing over when the
// last slab has ended; 128 x 128 in clusters of two, 3 % more cycles; 128 x 192, which spills.
#include "persistent.cuh"

using shape = tiled<bf16, tiling{.tile_m = 128, .tile_n = 176, .pingpong = true}>;

static const plumb_kernel kernel = persistent_row<shape, 5, PLUMB_RASTER_M, 16>(
    "bf16-pingpong", "persistent, warp-specialised, ping-pong consumers, 128x176x64");
PLUMB_LIBRARY("cuda", kernel)
