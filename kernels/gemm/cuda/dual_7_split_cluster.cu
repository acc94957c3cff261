// SPDX-License-Identifier: Apache-2.0
//
// The fused dual GEMM with K divided between the two blocks of a cluster, for problems of about
// half as many tiles as SMs. Their sums meet in each other's shared memory, where the slabs were,
// so there is no workspace and no second launch; each block finishes half the rows (split.cuh).
// This is what the ladder's document could not do on its device.
#include "dual.cuh"

using shape = dual_config<config<bf16, 128, 256, 2, 1>, true>;

static const plumb_kernel kernel =
    split_row<shape, 2, 4, PLUMB_RASTER_M, 8>("dual-7-split-cluster");
PLUMB_LIBRARY("cuda", kernel)
