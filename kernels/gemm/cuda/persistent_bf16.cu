// SPDX-License-Identifier: Apache-2.0
#include "persistent.cuh"

using shape = config<bf16, 128, 256, 2, 1, 2, 1>;

static const plumb_kernel kernel = {
    "persistent-bf16", "persistent, warp-specialised, 128x256x64, 4 stages, clusters of 2x1",
    persistent_traits<shape>(4, PLUMB_RASTER_M, 8),
    supports_tn<bf16>, nullptr, nullptr, launch_row<shape, 4, PLUMB_RASTER_M, 8>};
PLUMB_LIBRARY("cuda", kernel)
