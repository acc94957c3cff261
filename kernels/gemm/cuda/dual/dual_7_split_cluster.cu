// SPDX-License-Identifier: Apache-2.0
//
// The fused dual GEMM with K divided between the two blocks of a cluster, for problems of about
// half as many tiles as SMs. Their sums meet in each other's shared memory, where the slabs were,
// so there is no workspace and no second launch; each block finishes half the rows
// (split/cluster.cuh). This is what the ladder's document could not do on its device.
//
// Measured on 256 x 4096 x 7168: 49.0 us, without 72.4 (on 64 SMs), over global memory 63.2; tiles
// of half the width, 128 x 64, which fill the device without dividing K, 42.8.
#include "dual.cuh"

using shape = dual_config<tiled<bf16, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2}>, true>;

static const plumb_kernel kernel =
    split_row<shape, 2, 4, PLUMB_RASTER_M, 8>("dual-7-split-cluster");
PLUMB_LIBRARY("cuda", kernel)
