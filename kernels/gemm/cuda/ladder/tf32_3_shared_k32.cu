// SPDX-License-Identifier: Apache-2.0
//
// Rung 3, a deeper slab, 32 of K instead of 8: there are a quarter as many waits and block-wide
// barriers, and whole 128-byte lines of each row are read. Fragments still pass through registers.
#include "ladder.cuh"

static const plumb_kernel kernel =
    ladder_row("tf32-3-shared-k32", "mma.sync from shared memory, cp.async, 128x128x32",
               ladder_traits(mma_tile, mma_tile, 32, 1, mma_threads, 36864, 194, 2, PLUMB_RASTER_N,
                             1, PLUMB_MMA_SYNC),
               launch_shared<32>);
PLUMB_LIBRARY("cuda", kernel)
