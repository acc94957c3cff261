// SPDX-License-Identifier: Apache-2.0
//
// Rung 7, the copy engine (TMA): one thread asks for whole slabs, three of them in flight, rounded
// to TF32 on the way. No thread computes addresses, and none waits for copies of its own. Two
// blocks per SM hide each other's waits.
#include "ladder.cuh"

static const plumb_kernel kernel =
    ladder_row("tf32-7-tma", "TMA, wgmma, 3 stages, tiles in bands of 8 rows, 128x128x32",
               ladder_traits(tma_bm, 128, 32, 3, tma_threads, tma_shared<128, 3>, 90, 2,
                             PLUMB_RASTER_M, tma_band),
               launch_tma<128, 3>);
PLUMB_LIBRARY("cuda", kernel)
