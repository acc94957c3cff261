// SPDX-License-Identifier: Apache-2.0
//
// Rung 8, a larger tile, 128 x 256: a third fewer bytes per multiplication come out of L2 and into
// shared memory, and one matrix instruction reads 256 columns of B for its 64 rows of A. Four
// stages fill the SM, so no second block hides the first one's waits. Instead, one slab's
// instructions keep running while all threads meet.
//
// Tried and rejected: to wait for a slab's instructions before the threads meet, as the rung before
// does. That reached 83 % of cuBLASLt, less than the rung before, because the tensor cores stand
// still at each of the 512 meetings.
#include "ladder.cuh"

static const plumb_kernel kernel =
    ladder_row("tf32-8-tma-wide", "TMA, wgmma, 4 stages, tiles in bands of 8 rows, 128x256x32",
               ladder_traits(tma_bm, 256, 32, 4, tma_threads, tma_shared<256, 4>, 154, 1,
                             PLUMB_RASTER_M, tma_band),
               launch_tma<256, 4, 1>);
PLUMB_LIBRARY("cuda", kernel)
