// SPDX-License-Identifier: Apache-2.0
//
// The selector in TF32.
#include "select.cuh"

#include "costs_tf32.cuh"

PLUMB_SELECTOR(tf32, PLUMB_NO_EPILOGUE, "select-tf32",
               "picks a configuration by a cost model, no trial runs", PLUMB_COSTS_TF32)
