// SPDX-License-Identifier: Apache-2.0
//
// The selector in FP8 with fast accumulation.
#include "select.cuh"

#include "costs_e4m3.cuh"

PLUMB_SELECTOR(e4m3, PLUMB_NO_EPILOGUE, "select-e4m3",
               "picks a configuration by a cost model, fast accumulation", PLUMB_COSTS_E4M3)
