// SPDX-License-Identifier: Apache-2.0
//
// The fused dual GEMM with K divided between the two blocks of a cluster, for problems with about
// half as many tiles as SMs. The sums of the two blocks meet in each other's shared memory, where
// the slabs were, so there is no workspace and no second launch. Each block finishes half of the
// rows (split/cluster.cuh). The document that the ladder follows could not do this on its device.
//
// Measured on 256 x 4096 x 7168: 49.0 us; without dividing K 72.4 (on 64 SMs); divided over
// global memory 63.2; with tiles of half the width, 128 x 64, which fill the device without
// dividing K, 42.8.
#include "dual.cuh"

using shape = dual_config<tiled<bf16, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2}>, true>;

static const plumb_kernel kernel =
    split_row<shape, 2, 4, PLUMB_RASTER_M, 8>("dual-7-split-cluster");
PLUMB_LIBRARY("cuda", kernel)
