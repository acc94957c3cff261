// SPDX-License-Identifier: Apache-2.0
//
// The selector of dual GEMMs in BF16.
#include "dual.cuh"
#include "select.cuh"

#include "costs_bf16_dual.cuh"

PLUMB_SELECTOR(bf16, PLUMB_DUAL_SILU, "select-bf16-dual",
               "picks a configuration by a cost model, no trial runs", PLUMB_COSTS_BF16_DUAL)
