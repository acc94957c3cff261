// SPDX-License-Identifier: Apache-2.0
//
// Rung 9, warp specialisation in a persistent kernel: a producer warpgroup that never waits for
// arithmetic, two consumers that hand a slab back while the next is multiplied, B multicast to the
// two blocks of a cluster, and one block per SM that walks tiles in bands of 8. persistent.cuh says
// how.
#include "persistent.cuh"

using shape = config<tf32, 128, 256, 2, 1, 2, 1>;

static const plumb_kernel kernel = {"tf32-9-persistent",
                                    "persistent, warp-specialised, 128x256x32, clusters of 2x1",
                                    persistent_traits<shape>(4, PLUMB_RASTER_M, 8),
                                    supports_tn<shape::type>,
                                    nullptr,
                                    nullptr,
                                    launch_row<shape, 4, PLUMB_RASTER_M, 8>};
PLUMB_LIBRARY("cuda", kernel)
