// SPDX-License-Identifier: Apache-2.0
//
// The selector in BF16.
#include "select.cuh"

#include "costs_bf16.cuh"

PLUMB_SELECTOR(bf16, PLUMB_NO_EPILOGUE, "select-bf16",
               "picks a configuration by a cost model, no trial runs", PLUMB_COSTS_BF16)
