// SPDX-License-Identifier: Apache-2.0
//
// The selector in FP16, with the costs of BF16: the same instructions at the same rate.
#include "select.cuh"

#include "costs_bf16.cuh"

PLUMB_SELECTOR(fp16, PLUMB_NO_EPILOGUE, "select-fp16",
               "picks a configuration by a cost model, no trial runs", PLUMB_COSTS_BF16)
