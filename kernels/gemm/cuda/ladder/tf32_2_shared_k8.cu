// SPDX-License-Identifier: Apache-2.0
//
// Rung 2, shared memory: the block copies slabs of 8 of K with cp.async (no registers in
// between), and the four warps read their fragments from there. So each element of A and B is
// fetched once per block.
#include "ladder.cuh"

static const plumb_kernel kernel =
    ladder_row("tf32-2-shared-k8", "mma.sync from shared memory, cp.async, 128x128x8",
               ladder_traits(mma_tile, mma_tile, 8, 1, mma_threads, 12288, 180, 2, PLUMB_RASTER_N,
                             1, PLUMB_MMA_SYNC),
               launch_shared<8>);
PLUMB_LIBRARY("cuda", kernel)
