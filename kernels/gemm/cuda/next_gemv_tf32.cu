// SPDX-License-Identifier: Apache-2.0
//
// On trial in TF32: m = 1 without tensor cores (gemv.cuh).
#include "gemv.cuh"

static const plumb_kernel kernel = gemv_row<tf32>("tf32-gemv");
PLUMB_LIBRARY("cuda", kernel)
