// SPDX-License-Identifier: Apache-2.0
//
// The selector in FP8 with sums promoted every 128 of K.
#include "select.cuh"

#include "costs_e4m3_promoted.cuh"

PLUMB_SELECTOR(e4m3, PLUMB_NO_EPILOGUE, "select-e4m3-promoted",
               "picks a configuration by a cost model, sums promoted every 128 of K",
               PLUMB_COSTS_E4M3_PROMOTED)
