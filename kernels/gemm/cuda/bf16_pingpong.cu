// SPDX-License-Identifier: Apache-2.0
//
// Ping-pong in BF16: each consumer warpgroup computes whole 128 x 128 tiles, and one's epilogue
// runs under the other's main loop.
#include "persistent.cuh"

using shape = config<bf16, 128, 128, 1, 1, 2, 1, true>;

static const plumb_kernel kernel = {"bf16-pingpong",
                                    "persistent, warp-specialised, ping-pong consumers, 128x128x64",
                                    persistent_traits<shape>(6, PLUMB_RASTER_M, 8),
                                    supports_tn<shape::type>,
                                    nullptr,
                                    nullptr,
                                    launch_row<shape, 6, PLUMB_RASTER_M, 8>};
PLUMB_LIBRARY("cuda", kernel)
