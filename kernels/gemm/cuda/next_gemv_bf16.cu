// SPDX-License-Identifier: Apache-2.0
//
// On trial in BF16: m = 1 without tensor cores (gemv.cuh).
#include "gemv.cuh"

static const plumb_kernel kernel = gemv_row<bf16>("bf16-gemv");
PLUMB_LIBRARY("cuda", kernel)
