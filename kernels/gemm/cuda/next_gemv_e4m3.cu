// SPDX-License-Identifier: Apache-2.0
//
// On trial in E4M3: m = 1 without tensor cores (gemv.cuh).
#include "gemv.cuh"

static const plumb_kernel kernel = gemv_row<e4m3>("e4m3-gemv");
PLUMB_LIBRARY("cuda", kernel)
