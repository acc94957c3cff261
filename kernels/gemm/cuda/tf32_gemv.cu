// SPDX-License-Identifier: Apache-2.0
//
// m = 1 in TF32 without tensor cores (gemv.cuh, which says what it gains).
#include "gemv.cuh"

static const plumb_kernel kernel = gemv_row<tf32>("tf32-gemv", 0);
PLUMB_LIBRARY("cuda", kernel)
