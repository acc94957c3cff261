// SPDX-License-Identifier: Apache-2.0
//
// m = 1 in BF16 without tensor cores (gemv.cuh, which says what it gains).
#include "gemv.cuh"

static const plumb_kernel kernel = gemv_row<bf16>("bf16-gemv", 0);
PLUMB_LIBRARY("cuda", kernel)
